import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { OpenLink } from '../parts/links.tsx'
import { ListPage } from '../parts/list.tsx'
import { useMay } from '../session/session.ts'
import { ConnectionForm } from './connection-form.tsx'
import { StateBadge } from './state.tsx'
import { texts } from './texts.ts'

export function ConnectionsPage() {
  const may = useMay()
  const navigate = useNavigate()
  const [creating, setCreating] = useState(false)
  return (
    <ListPage
      {...texts}
      name="connections"
      actions={
        may('connection:create') && (
          <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
            {texts.form.create}
          </Button>
        )
      }
      empty={{ icon: 'link', ...texts.empty }}
      read={({ cursor }, signal) =>
        call('GET /connections/', { query: { page_size: 25, ordering: '-created_at', cursor }, signal })
      }
      row={(connection) => (
        <tr>
          <td>
            <Link className="row-button" to="/connections/$id" params={{ id: connection.id }}>
              <bdi>{connection.name}</bdi>
            </Link>
          </td>
          <td className="muted">{texts.kinds[connection.kind].name}</td>
          <td>
            <StateBadge connection={connection} />
          </td>
          <td>
            <code className="muted small block clip">
              {connection.kind === 'oidc' ? connection.oidc.issuer : connection.saml.entity_id}
            </code>
          </td>
          <td className="end">
            <OpenLink
              to="/connections/$id"
              params={{ id: connection.id }}
              label={texts.open(connection.name)}
            />
          </td>
        </tr>
      )}
    >
      {creating && (
        <ConnectionForm
          onClose={() => setCreating(false)}
          onCreated={({ id }) => void navigate({ to: '/connections/$id', params: { id } })}
        />
      )}
    </ListPage>
  )
}
