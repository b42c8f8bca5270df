import type { OAuthResource } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { call, callVersioned } from '../api/client.ts'
import { changed } from '../parts/approvable.ts'
import { Badges, Button } from '../parts/button.tsx'
import { ListPage } from '../parts/list.tsx'
import { Menu, MenuItem } from '../parts/menu.tsx'
import { Removal } from '../parts/removal.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { ApiForm } from './api-form.tsx'
import { texts } from './texts.ts'

const { apis: words } = texts

/** The APIs of the organisation that access tokens are for. */
export function ApisPage({ head }: { head: ReactNode }) {
  const may = useMay()
  const [registering, setRegistering] = useState(false)
  const [editing, setEditing] = useState<string | null>(null)
  const [removing, setRemoving] = useState<OAuthResource | null>(null)
  const remove = ({ id }: OAuthResource) =>
    changed('apis', () => call('DELETE /oauth-resources/{id}/', { path: { id } }), words.removed)
  return (
    <ListPage
      {...words}
      head={head}
      name="apis"
      actions={
        may('oauth_resource:create') && (
          <Button kind="primary" icon="plus" onClick={() => setRegistering(true)}>
            {words.create}
          </Button>
        )
      }
      empty={{ icon: 'grid', ...words.empty }}
      read={({ cursor }, signal) =>
        call('GET /oauth-resources/', { query: { page_size: 25, ordering: '-created_at', cursor }, signal })
      }
      row={(api) => (
        <tr>
          <td>
            <bdi>{api.name}</bdi>
            <code className="muted small block clip">{api.identifier}</code>
          </td>
          <td>
            <Badges of={api.scopes.map(({ permission }) => permission)} />
          </td>
          <td className="muted" data-title={words.columns[2]}>
            {api.client_ids.length}
          </td>
          <td className="end">
            {(may('oauth_resource:update') || may('oauth_resource:delete')) && (
              <Menu trigger={<Button kind="quiet" icon="dots" aria-label={words.actionsOf(api.name)} />}>
                {may('oauth_resource:update') && (
                  <MenuItem icon="grid" onClick={() => setEditing(api.id)}>
                    {texts.edit}
                  </MenuItem>
                )}
                {may('oauth_resource:delete') && (
                  <MenuItem icon="trash" danger onClick={() => setRemoving(api)}>
                    {words.remove}
                  </MenuItem>
                )}
              </Menu>
            )}
          </td>
        </tr>
      )}
    >
      {registering && <ApiForm onClose={() => setRegistering(false)} />}
      {editing && <Edited id={editing} onClose={() => setEditing(null)} />}
      {removing && (
        <Removal
          texts={words}
          name={removing.name}
          remove={() => remove(removing)}
          onClose={() => setRemoving(null)}
        />
      )}
    </ListPage>
  )
}

/** The form for an API as it is now. */
function Edited({ id, onClose }: { id: string; onClose: () => void }) {
  const { id: tenant } = useProfile().current_tenant
  const { data } = useQuery({
    queryKey: ['apis', tenant, 'one', id],
    queryFn: ({ signal }) => callVersioned('GET /oauth-resources/{id}/', { path: { id }, signal }),
    gcTime: 0,
  })
  return data && <ApiForm api={data} onClose={onClose} />
}
