import type { ReceivedInvitation } from '@bailiwick/client'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { Avatar } from '../parts/avatar.tsx'
import { Badge } from '../parts/button.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { TextField } from '../parts/field.tsx'
import { Icon } from '../parts/icon.tsx'
import { Menu, MenuGroup, MenuItem, MenuLine } from '../parts/menu.tsx'
import { useProfile } from '../session/session.ts'
import { type Organisation, useSwitch } from '../session/switch-organisation.tsx'
import { textOf } from '../session/use-submit.ts'
import { JoinDialog, useReceived } from './received-invitations.tsx'
import { texts } from './texts.ts'

/** The organisation that the pages are about, the person's others, and those that invite them. */
export function OrganisationSwitcher() {
  const { current_tenant: here, memberships } = useProfile()
  const [creating, setCreating] = useState(false)
  const [joining, setJoining] = useState<ReceivedInvitation | null>(null)
  const received = useReceived()
  const { switchTo, dialog } = useSwitch()
  return (
    <>
      <Menu
        align="start"
        trigger={
          <button type="button" className="switcher">
            <Avatar square name={here.name} of={here.id} />
            <span className="names">
              <bdi>{here.name}</bdi>
              <span>{here.slug}</span>
            </span>
            {received.length > 0 && <Badge tone="accent">{texts.invitations(received.length)}</Badge>}
            <Icon name="sort" />
          </button>
        }
      >
        <MenuGroup label={texts.organisations}>
          {memberships.map(({ tenant, status }) => (
            <MenuItem key={tenant.id} disabled={status !== 'active'} onClick={() => void switchTo(tenant)}>
              <Avatar square name={tenant.name} of={tenant.id} />
              <span className="names grow">
                <bdi>{tenant.name}</bdi>
                <span>{tenant.slug}</span>
              </span>
              {tenant.status !== 'active' && <Badge tone="warn">{texts.status[tenant.status]}</Badge>}
              {tenant.id === here.id && <Icon name="check" />}
            </MenuItem>
          ))}
        </MenuGroup>
        {received.length > 0 && (
          <MenuGroup label={texts.invitedTo}>
            {received.map((invitation) => (
              <MenuItem key={invitation.id} icon="mail" onClick={() => setJoining(invitation)}>
                <span className="names grow">
                  <bdi>{invitation.tenant.name}</bdi>
                  <span>{invitation.tenant.slug}</span>
                </span>
              </MenuItem>
            ))}
          </MenuGroup>
        )}
        <MenuLine />
        <MenuItem icon="plus" onClick={() => setCreating(true)}>
          {texts.newOrganisation}
        </MenuItem>
      </Menu>
      <NewOrganisation open={creating} onClose={() => setCreating(false)} onCreated={switchTo} />
      {joining && <JoinDialog invitation={joining} onClose={() => setJoining(null)} onJoined={switchTo} />}
      {dialog}
    </>
  )
}

function NewOrganisation({
  open,
  onClose,
  onCreated,
}: {
  open: boolean
  onClose: () => void
  onCreated: (tenant: Organisation) => Promise<void>
}) {
  const { title, about, name, go } = texts.create
  return (
    <FormDialog
      {...{ open, onClose, title, about, go }}
      submit={async (form) =>
        onCreated(await call('POST /tenants/', { body: { name: textOf(form, 'name') } }))
      }
    >
      <TextField label={name} name="name" maxLength={120} required autoFocus />
    </FormDialog>
  )
}
