import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, request } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import { Avatar } from '../parts/avatar.tsx'
import { Badge } from '../parts/button.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { TextField } from '../parts/field.tsx'
import { Icon } from '../parts/icon.tsx'
import { Menu, MenuGroup, MenuItem, MenuLine } from '../parts/menu.tsx'
import { say, sayFault } from '../parts/toasts.tsx'
import { renewSession, useProfile } from '../session/session.ts'
import { textOf } from '../session/use-submit.ts'
import { texts } from './texts.ts'

interface Brief {
  id: string
  name: string
  slug: string
}

/** The organisation that the pages are about, and the person's others. */
export function OrganisationSwitcher() {
  const { current_tenant: here, memberships } = useProfile()
  const client = useQueryClient()
  const [creating, setCreating] = useState(false)
  const [waiting, setWaiting] = useState<Brief | null>(null)

  const enter = async (tenant: Brief) => {
    await renewSession(client)
    say(texts.switched(tenant.name))
  }
  const switchTo = async (tenant: Brief) => {
    if (tenant.id === here.id) return
    try {
      await call('POST /auth/switch-tenant/', { body: { tenant_id: tenant.id } })
      await enter(tenant)
    } catch (error) {
      if (asProblem(error).code === 'otp_required') setWaiting(tenant)
      else sayFault(error)
    }
  }
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
        <MenuLine />
        <MenuItem icon="plus" onClick={() => setCreating(true)}>
          {texts.newOrganisation}
        </MenuItem>
      </Menu>
      <NewOrganisation open={creating} onClose={() => setCreating(false)} onCreated={switchTo} />
      <FormDialog
        open={waiting !== null}
        onClose={() => setWaiting(null)}
        title={texts.secondFactor.title}
        about={texts.secondFactor.about(waiting?.name ?? '')}
        go="Continue"
        submit={async (form) => {
          await request('POST', '/session/second-factor/', { body: { code: textOf(form, 'code') } })
          if (waiting) await enter(waiting)
        }}
      >
        {() => (
          <TextField
            label="Code"
            name="code"
            className="code-input"
            autoComplete="one-time-code"
            autoFocus
            required
          />
        )}
      </FormDialog>
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
  onCreated: (tenant: Brief) => Promise<void>
}) {
  const { title, about, name, go } = texts.create
  return (
    <FormDialog
      {...{ open, onClose, title, about, go }}
      submit={async (form) =>
        onCreated(await call('POST /tenants/', { body: { name: textOf(form, 'name') } }))
      }
    >
      {(problem) => (
        <TextField
          label={name}
          name="name"
          maxLength={120}
          required
          autoFocus
          fault={problem?.fields.get('name')}
        />
      )}
    </FormDialog>
  )
}
