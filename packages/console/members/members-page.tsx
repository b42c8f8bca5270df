import { useState } from 'react'
import { call } from '../api/client.ts'
import { InviteDialog } from '../invitations/invite-dialog.tsx'
import { nameOf, Person } from '../parts/avatar.tsx'
import { Badge, Badges, Button } from '../parts/button.tsx'
import { ListPage } from '../parts/list.tsx'
import { Time } from '../parts/time.tsx'
import { choice } from '../parts/toolbar.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { MemberActions } from './member-actions.tsx'
import { useDepartments, useRoles } from './queries.ts'
import { texts } from './texts.ts'
import { UserName } from './user-name.tsx'

export function MembersPage() {
  const { id: me, current_tenant: tenant } = useProfile()
  const may = useMay()
  const [inviting, setInviting] = useState(false)
  const roles = useRoles().data?.results ?? []
  const departments = useDepartments().data?.results ?? []
  return (
    <ListPage
      {...texts}
      name="members"
      empty={{ icon: 'people', ...texts.empty }}
      actions={
        may('invitation:create') && (
          <Button kind="primary" icon="plus" onClick={() => setInviting(true)}>
            {texts.invite}
          </Button>
        )
      }
      fields={[
        { name: 'search', label: texts.search },
        {
          name: 'role',
          label: texts.anyRole,
          kind: 'choice',
          options: roles.map(({ name }) => [name, name]),
        },
        choice('status', texts.anyStatus, texts.status),
        {
          name: 'manager_id',
          label: texts.reportsTo,
          kind: 'set',
          show: (id) => <UserName id={id} />,
        },
      ]}
      read={(filters, signal) =>
        call('GET /tenants/{id}/members/', {
          path: { id: tenant.id },
          query: { page_size: 25, kind: 'user', ...filters },
          signal,
        })
      }
      row={(member) => (
        <tr>
          <td>
            <Person name={member.user ? nameOf(member.user) : ''} email={member.email ?? ''} />
          </td>
          <td>
            <span className="line">
              <Badges of={member.roles} accent="owner" />
              {member.user_id === me && <Badge tone="good">{texts.you}</Badge>}
            </span>
          </td>
          <td className="muted">
            <bdi>{departments.find(({ id }) => id === member.department_id)?.name ?? ''}</bdi>
          </td>
          <td>
            <Badge tone={member.status === 'active' ? 'good' : 'warn'}>{texts.status[member.status]}</Badge>
          </td>
          <td className="muted" data-title={texts.columns[4]}>
            <Time at={member.joined_at} form="day" />
          </td>
          <td className="end">
            <MemberActions member={member} roles={roles} />
          </td>
        </tr>
      )}
    >
      <InviteDialog open={inviting} onClose={() => setInviting(false)} roles={roles} />
    </ListPage>
  )
}
