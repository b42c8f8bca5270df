import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { Badge, Badges, Button } from '../parts/button.tsx'
import { OpenLink } from '../parts/links.tsx'
import { ListPage } from '../parts/list.tsx'
import { Time } from '../parts/time.tsx'
import { choice } from '../parts/toolbar.tsx'
import { useMay } from '../session/session.ts'
import { AccountForm } from './account-form.tsx'
import { texts } from './texts.ts'

export const tones = { active: 'good', disabled: 'warn' } as const

export function AccountsPage() {
  const may = useMay()
  const navigate = useNavigate()
  const [creating, setCreating] = useState(false)
  const create = may('service_account:create') && (
    <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
      {texts.create}
    </Button>
  )
  return (
    <ListPage
      {...texts}
      name="accounts"
      actions={create}
      empty={{ icon: 'robot', ...texts.empty }}
      fields={[{ name: 'search', label: texts.search }, choice('status', texts.anyStatus, texts.status)]}
      read={(filters, signal) =>
        call('GET /service-accounts/', { query: { page_size: 25, ordering: 'name', ...filters }, signal })
      }
      row={({ id, name, description, roles, status, last_used_at: used }) => (
        <tr>
          <td>
            <Link className="row-button" to="/service-accounts/$id" params={{ id }}>
              <bdi>{name}</bdi>
            </Link>
            <bdi className="muted small block clip">{description}</bdi>
          </td>
          <td>
            <Badges of={roles} />
          </td>
          <td>
            <Badge tone={tones[status]}>{texts.status[status]}</Badge>
          </td>
          <td className="muted" data-title={texts.columns[3]}>
            {used ? <Time at={used} /> : texts.never}
          </td>
          <td className="end">
            <OpenLink to="/service-accounts/$id" params={{ id }} label={texts.open(name)} />
          </td>
        </tr>
      )}
    >
      {creating && (
        <AccountForm
          onClose={() => setCreating(false)}
          onCreated={({ id }) => void navigate({ to: '/service-accounts/$id', params: { id } })}
        />
      )}
    </ListPage>
  )
}
