import type { Invitation } from '@bailiwick/client'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { useDepartments, useRoles } from '../members/queries.ts'
import { changed } from '../parts/approvable.ts'
import { Badge, Badges, Button } from '../parts/button.tsx'
import { ListPage } from '../parts/list.tsx'
import { Menu, MenuItem } from '../parts/menu.tsx'
import { Time } from '../parts/time.tsx'
import { sayFault } from '../parts/toasts.tsx'
import { choice } from '../parts/toolbar.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { InviteDialog } from './invite-dialog.tsx'
import { TableDialog } from './table-dialog.tsx'
import { texts } from './texts.ts'

const tones = { pending: 'accent', accepted: 'good', cancelled: undefined, expired: 'warn' } as const

export function InvitationsPage() {
  const { id } = useProfile().current_tenant
  const may = useMay()
  const [inviting, setInviting] = useState(false)
  const [pasting, setPasting] = useState(false)
  const roles = useRoles().data?.results ?? []
  const departments = useDepartments().data?.results ?? []
  const invite = may('invitation:create') && (
    <>
      <Button onClick={() => setPasting(true)}>{texts.table}</Button>
      <Button kind="primary" icon="plus" onClick={() => setInviting(true)}>
        {texts.invite}
      </Button>
    </>
  )
  return (
    <ListPage
      {...texts}
      name="invitations"
      actions={invite}
      empty={{ icon: 'mail', ...texts.empty }}
      fields={[{ name: 'search', label: texts.search }, choice('status', texts.anyStatus, texts.status)]}
      read={(filters, signal) =>
        call('GET /tenants/{id}/invitations/', {
          path: { id },
          query: { page_size: 25, ordering: '-created_at', ...filters },
          signal,
        })
      }
      row={(invitation) => <Row invitation={invitation} />}
    >
      <InviteDialog open={inviting} onClose={() => setInviting(false)} roles={roles} />
      {pasting && <TableDialog onClose={() => setPasting(false)} roles={roles} departments={departments} />}
    </ListPage>
  )
}

function Row({ invitation }: { invitation: Invitation }) {
  const may = useMay()
  const { id } = useProfile().current_tenant
  const { email, roles, status, invited_by: by, expires_at: expires } = invitation
  const path = { id, iid: invitation.id }
  const act = (run: () => Promise<unknown>, done: string) => changed('invitations', run, done).catch(sayFault)
  return (
    <tr>
      <td>
        <bdi>{email}</bdi>
      </td>
      <td>
        <Badges of={roles} />
      </td>
      <td>
        <Badge tone={tones[status]}>{texts.status[status]}</Badge>
      </td>
      <td className="muted" data-title={texts.columns[3]}>
        <bdi>{by.email}</bdi>
      </td>
      <td className="muted" data-title={texts.columns[4]}>
        <Time at={expires} />
      </td>
      <td className="end">
        {status === 'pending' && may('invitation:resend') && (
          <Menu trigger={<Button kind="quiet" icon="dots" aria-label={texts.more(email)} />}>
            <MenuItem
              icon="mail"
              onClick={() =>
                void act(() => call('POST /tenants/{id}/invitations/{iid}/resend/', { path }), texts.resent)
              }
            >
              {texts.resend}
            </MenuItem>
            <MenuItem
              icon="trash"
              danger
              onClick={() =>
                void act(
                  () => call('POST /tenants/{id}/invitations/{iid}/cancel/', { path }),
                  texts.cancelled,
                )
              }
            >
              {texts.cancel}
            </MenuItem>
          </Menu>
        )}
      </td>
    </tr>
  )
}
