import type { Role } from '@bailiwick/client'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { texts as memberTexts } from '../members/texts.ts'
import { changed } from '../parts/approvable.ts'
import { Badge, Button } from '../parts/button.tsx'
import { ListPage } from '../parts/list.tsx'
import { Menu, MenuItem } from '../parts/menu.tsx'
import { Removal } from '../parts/removal.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { RoleEditor, RoleView } from './role-editor.tsx'
import { texts } from './texts.ts'

export function RolesPage() {
  const { id } = useProfile().current_tenant
  const may = useMay()
  const [editing, setEditing] = useState<Role | 'new' | null>(null)
  const [viewed, setViewed] = useState<Role | null>(null)
  const [removing, setRemoving] = useState<Role | null>(null)
  const remove = async (role: Role) => {
    const path = { id, rid: role.id }
    await changed('roles', () => call('DELETE /tenants/{id}/roles/{rid}/', { path }), texts.removed)
  }
  return (
    <ListPage
      {...texts}
      name="roles"
      empty={{ icon: 'badge', ...texts.empty }}
      actions={
        may('role:create') && (
          <Button kind="primary" icon="plus" onClick={() => setEditing('new')}>
            {texts.create}
          </Button>
        )
      }
      read={({ cursor }, signal) =>
        call('GET /tenants/{id}/roles/', { path: { id }, query: { page_size: 50, cursor }, signal })
      }
      row={(role) => (
        <tr>
          <td>
            <span className="line">
              <button
                type="button"
                className="row-button"
                onClick={() => (role.is_system || !may('role:update') ? setViewed(role) : setEditing(role))}
              >
                <bdi>{role.name}</bdi>
              </button>
              {role.is_system && <Badge>{texts.builtIn}</Badge>}
            </span>
            <bdi className="muted small block">
              {role.is_system ? memberTexts.systemRoles[role.name] : role.description}
            </bdi>
          </td>
          <td className="muted">{texts.count(role.permissions.length)}</td>
          <td className="muted">{texts.members(role.member_count)}</td>
          <td className="end">
            <Menu trigger={<Button kind="quiet" icon="dots" aria-label={texts.more(role.name)} />}>
              {role.is_system || !may('role:update') ? (
                <MenuItem icon="eye" onClick={() => setViewed(role)}>
                  {texts.view}
                </MenuItem>
              ) : (
                <>
                  <MenuItem icon="key" onClick={() => setEditing(role)}>
                    {texts.edit}
                  </MenuItem>
                  <MenuItem icon="trash" danger onClick={() => setRemoving(role)}>
                    {texts.remove}
                  </MenuItem>
                </>
              )}
            </Menu>
          </td>
        </tr>
      )}
    >
      {editing && <RoleEditor role={editing} onClose={() => setEditing(null)} />}
      {viewed && <RoleView role={viewed} onClose={() => setViewed(null)} />}
      {removing && (
        <Removal
          texts={texts}
          name={removing.name}
          remove={() => remove(removing)}
          onClose={() => setRemoving(null)}
        />
      )}
    </ListPage>
  )
}
