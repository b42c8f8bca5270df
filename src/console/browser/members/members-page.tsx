import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { InviteDialog } from '../invitations/invite-dialog.tsx'
import { nameOf, Person } from '../parts/avatar.tsx'
import { Badge, Button } from '../parts/button.tsx'
import { SearchField } from '../parts/field.tsx'
import { FilterSelect } from '../parts/filter-select.tsx'
import { useFilters, useTyped } from '../parts/filters.ts'
import { List, Table } from '../parts/list.tsx'
import { Empty } from '../parts/notice.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { MemberActions } from './member-actions.tsx'
import { useDepartments, useRoles } from './queries.ts'
import { texts } from './texts.ts'

export function MembersPage() {
  const { id: me, current_tenant: tenant } = useProfile()
  const may = useMay()
  const [filters, change] = useFilters()
  const [typed, setTyped] = useTyped(filters.search ?? '', (search) => change({ search }))
  const [inviting, setInviting] = useState(false)
  const roles = useRoles().data?.results ?? []
  const departments = useDepartments().data?.results ?? []
  const query = useQuery({
    queryKey: ['members', tenant.id, filters],
    queryFn: ({ signal }) =>
      call('GET /tenants/{id}/members/', {
        path: { id: tenant.id },
        query: { page_size: 25, kind: 'user', ...filters },
        signal,
      }),
    placeholderData: (before) => before,
  })
  const clear = () => {
    setTyped('')
    change({ search: undefined, role: undefined, status: undefined })
  }
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={
        may('invitation:create') && (
          <Button kind="primary" icon="plus" onClick={() => setInviting(true)}>
            {texts.invite}
          </Button>
        )
      }
    >
      <div className="toolbar">
        <SearchField label={texts.search} value={typed} onChange={(event) => setTyped(event.target.value)} />
        <FilterSelect
          label={texts.anyRole}
          value={filters.role}
          options={roles.map(({ name }) => [name, name])}
          onChange={(role) => change({ role })}
        />
        <FilterSelect
          label={texts.anyStatus}
          value={filters.status}
          options={Object.entries(texts.status)}
          onChange={(status) => change({ status })}
        />
      </div>
      <Card>
        <List
          query={query}
          change={change}
          empty={
            <Empty
              icon="people"
              title={texts.empty.title}
              action={<Button onClick={clear}>{texts.empty.clear}</Button>}
            >
              {texts.empty.about}
            </Empty>
          }
        >
          {(members) => (
            <Table columns={texts.columns}>
              {members.map((member) => (
                <tr key={member.id}>
                  <td>
                    <Person name={member.user ? nameOf(member.user) : ''} email={member.email ?? ''} />
                  </td>
                  <td>
                    <span className="line">
                      {member.roles.map((role) => (
                        <Badge key={role} tone={role === 'owner' ? 'accent' : undefined}>
                          <bdi>{role}</bdi>
                        </Badge>
                      ))}
                    </span>
                  </td>
                  <td className="muted">
                    <bdi>{departments.find(({ id }) => id === member.department_id)?.name ?? ''}</bdi>
                  </td>
                  <td>
                    <Badge tone={member.status === 'active' ? 'good' : 'warn'}>
                      {texts.status[member.status]}
                    </Badge>
                  </td>
                  <td className="muted" data-title={texts.columns[4]}>
                    <Time at={member.joined_at} form="day" />
                  </td>
                  <td className="end">
                    <span className="line end-line">
                      {member.user_id === me && <Badge tone="accent">{texts.you}</Badge>}
                      <MemberActions member={member} roles={roles} departments={departments} />
                    </span>
                  </td>
                </tr>
              ))}
            </Table>
          )}
        </List>
      </Card>
      <InviteDialog
        open={inviting}
        onClose={() => setInviting(false)}
        roles={roles}
        departments={departments}
      />
    </Page>
  )
}
