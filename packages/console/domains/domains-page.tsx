import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { OpenLink } from '../parts/links.tsx'
import { ListPage } from '../parts/list.tsx'
import { useMay } from '../session/session.ts'
import { DomainForm } from './domain-form.tsx'
import { StateBadge } from './state.tsx'
import { texts } from './texts.ts'

export function DomainsPage() {
  const may = useMay()
  const navigate = useNavigate()
  const [claiming, setClaiming] = useState(false)
  return (
    <ListPage
      {...texts}
      name="domains"
      actions={
        may('domain:create') && (
          <Button kind="primary" icon="plus" onClick={() => setClaiming(true)}>
            {texts.form.create}
          </Button>
        )
      }
      empty={{ icon: 'globe', ...texts.empty }}
      read={({ cursor }, signal) =>
        call('GET /domains/', { query: { page_size: 25, ordering: '-created_at', cursor }, signal })
      }
      row={(domain) => (
        <tr>
          <td>
            <Link className="row-button" to="/domains/$id" params={{ id: domain.id }}>
              <bdi>{domain.domain}</bdi>
            </Link>
          </td>
          <td>
            <StateBadge domain={domain} />
          </td>
          <td className="muted" data-title={texts.columns[2]}>
            {texts.routes[domain.route]}
          </td>
          <td className="end">
            <OpenLink to="/domains/$id" params={{ id: domain.id }} label={texts.open(domain.domain)} />
          </td>
        </tr>
      )}
    >
      {claiming && (
        <DomainForm
          onClose={() => setClaiming(false)}
          onCreated={({ id }) => void navigate({ to: '/domains/$id', params: { id } })}
        />
      )}
    </ListPage>
  )
}
