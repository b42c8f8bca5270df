import type { Policy } from '@bailiwick/client'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { call } from '../api/client.ts'
import { Badge } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { ListPage } from '../parts/list.tsx'
import { Time } from '../parts/time.tsx'
import { choice } from '../parts/toolbar.tsx'
import { useMay } from '../session/session.ts'
import { EffectBadge, StateBadge } from './badges.tsx'
import { PolicyMenu } from './policy-menu.tsx'
import { reloadPolicies } from './queries.ts'
import { texts } from './texts.ts'

export function PoliciesPage() {
  const may = useMay()
  const client = useQueryClient()
  const create = may('policy:create') && (
    <Link className="button" data-kind="primary" to="/policies/$id" params={{ id: 'new' }}>
      <Icon name="plus" />
      {texts.create}
    </Link>
  )
  return (
    <ListPage
      {...texts}
      name="policies"
      actions={create}
      empty={{ icon: 'rules', action: create, ...texts.empty }}
      fields={[
        { name: 'search', label: texts.search },
        choice('effect', texts.anyEffect, texts.effects),
        choice('is_active', texts.anyState, texts.states),
        choice('mode', texts.anyMode, texts.modes),
        { name: 'action', label: texts.anyAction },
      ]}
      read={(filters, signal) =>
        call('GET /policies/', { query: { page_size: 25, ordering: 'name', ...filters } as never, signal })
      }
      row={(policy) => <Row policy={policy} onChanged={() => void reloadPolicies(client)} />}
    />
  )
}

function Row({ policy, onChanged }: { policy: Policy; onChanged: () => void }) {
  const { id, name, kind, description, effect, actions, managed_by, updated_at } = policy
  const [first = '', ...others] = actions
  return (
    <tr>
      <td>
        <span className="line">
          <Link className="row-button" to="/policies/$id" params={{ id }}>
            <bdi>{name}</bdi>
          </Link>
          {kind === 'rego' && <Badge>{texts.rego}</Badge>}
        </span>
        <bdi className="muted small block clip">{managed_by ? texts.managed(managed_by) : description}</bdi>
      </td>
      <td>
        <EffectBadge effect={effect} />
      </td>
      <td>
        <code title={actions.join('\n')}>{first}</code>{' '}
        {others.length > 0 && <span className="muted small">{texts.more(others.length)}</span>}
      </td>
      <td>
        <StateBadge policy={policy} />
      </td>
      <td className="muted">
        <Time at={updated_at} />
      </td>
      <td className="end">
        <PolicyMenu policy={policy} onChanged={onChanged} />
      </td>
    </tr>
  )
}
