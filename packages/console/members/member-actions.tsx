import type { Member, Role } from '@bailiwick/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { approvable } from '../parts/approvable.ts'
import { Button } from '../parts/button.tsx'
import { confirmed } from '../parts/confirmation.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { TextField } from '../parts/field.tsx'
import { useFilters } from '../parts/filters.ts'
import { Menu, MenuItem, MenuLine } from '../parts/menu.tsx'
import { sayFault } from '../parts/toasts.tsx'
import { renewSession, sessionQuery, useMay, useProfile } from '../session/session.ts'
import { textOf } from '../session/use-submit.ts'
import { EditMember } from './edit-member.tsx'
import { nameOfMember } from './name-of-member.ts'
import { PermissionsDialog } from './permissions-dialog.tsx'
import { texts } from './texts.ts'

type Final = 'suspend' | 'sessions' | 'remove'
type Asked = Final | 'edit' | 'act' | 'permissions' | null

/** What can be done with a member: a menu, and the dialog of what was chosen. */
export function MemberActions({ member, roles }: { member: Member; roles: Role[] }) {
  const client = useQueryClient()
  const may = useMay()
  const { id: me, current_tenant: tenant } = useProfile()
  const [asked, setAsked] = useState<Asked>(null)
  const [, show] = useFilters()
  const path = { id: tenant.id, mid: member.id }
  const name = nameOfMember(member)
  const own = member.user_id === me
  const canAct =
    may('member:impersonate') && !own && member.kind === 'user' && !member.roles.includes('owner')
  if (!may('member:update') && !own && !canAct) return null

  const change = async (run: () => Promise<unknown>, done: string) => {
    await approvable(() => confirmed(run), done)
    await client.invalidateQueries({ queryKey: ['members'] })
    if (own) await client.invalidateQueries({ queryKey: sessionQuery.queryKey })
  }
  const activate = () =>
    change(
      () => call('PATCH /tenants/{id}/members/{mid}/', { path, body: { status: 'active' } }),
      texts.activated,
    ).catch(sayFault)
  const close = () => setAsked(null)
  const asking = {
    suspend: { ...texts.suspending, go: texts.suspend },
    sessions: { ...texts.ending, go: texts.endSessions },
    remove: { ...texts.removing, go: own ? texts.leave : texts.remove },
  }
  const acts = {
    suspend: () => call('PATCH /tenants/{id}/members/{mid}/', { path, body: { status: 'suspended' } }),
    sessions: () => call('DELETE /tenants/{id}/members/{mid}/sessions/', { path }),
    remove: () => call('DELETE /tenants/{id}/members/{mid}/', { path }),
  }
  const final = asked && !['edit', 'act', 'permissions'].includes(asked) ? (asked as Final) : null
  return (
    <>
      <Menu trigger={<Button kind="quiet" icon="dots" aria-label={texts.more(name)} />}>
        {may('member:update') && (
          <>
            <MenuItem icon="person" onClick={() => setAsked('edit')}>
              {texts.edit}
            </MenuItem>
            <MenuItem icon="key" onClick={() => setAsked('permissions')}>
              {texts.seePermissions}
            </MenuItem>
            <MenuItem
              icon="people"
              onClick={() => show({ manager_id: member.user_id ?? '', search: undefined, role: undefined })}
            >
              {texts.reports}
            </MenuItem>
            <MenuItem icon="logout" onClick={() => setAsked('sessions')}>
              {texts.endSessions}
            </MenuItem>
            {member.status === 'active' ? (
              <MenuItem icon="lock" onClick={() => setAsked('suspend')}>
                {texts.suspend}
              </MenuItem>
            ) : (
              <MenuItem icon="check" onClick={() => void activate()}>
                {texts.activate}
              </MenuItem>
            )}
            <MenuLine />
          </>
        )}
        {canAct && (
          <MenuItem icon="person" onClick={() => setAsked('act')}>
            {texts.actAs}
          </MenuItem>
        )}
        {(own || may('member:update')) && (
          <MenuItem icon="trash" danger onClick={() => setAsked('remove')}>
            {own ? texts.leave : texts.remove}
          </MenuItem>
        )}
      </Menu>
      {asked === 'permissions' && <PermissionsDialog member={member} roles={roles} onClose={close} />}
      <FormDialog
        open={asked === 'act'}
        onClose={close}
        title={texts.acting.title(name)}
        about={texts.acting.about}
        go={texts.acting.go}
        submit={async (form) => {
          const body = { reason: textOf(form, 'reason') }
          await confirmed(() => call('POST /tenants/{id}/members/{mid}/impersonate/', { path, body }))
          await renewSession(client)
        }}
      >
        <TextField
          label={texts.acting.reason}
          hint={texts.acting.hint}
          name="reason"
          maxLength={500}
          required
          autoFocus
        />
      </FormDialog>
      {final && (
        <FormDialog
          open
          onClose={close}
          danger={final !== 'sessions'}
          title={asking[final].title(name)}
          about={asking[final].about}
          go={asking[final].go}
          submit={() => change(acts[final], asking[final].done)}
        />
      )}
      {asked === 'edit' && <EditMember {...{ member, roles, change }} onClose={close} />}
    </>
  )
}
