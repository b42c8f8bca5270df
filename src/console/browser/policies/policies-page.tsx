import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Policy } from '../../../client/api-types.ts'
import { call } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { SearchField } from '../parts/field.tsx'
import { FilterSelect } from '../parts/filter-select.tsx'
import { useFilters, useTyped } from '../parts/filters.ts'
import { Icon } from '../parts/icon.tsx'
import { List, Table } from '../parts/list.tsx'
import { Empty } from '../parts/notice.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { EffectBadge, StateBadge } from './badges.tsx'
import { PolicyMenu } from './policy-menu.tsx'
import { texts } from './texts.ts'

const filterNames = ['search', 'effect', 'is_active', 'mode', 'action'] as const

export function PoliciesPage() {
  const { id } = useProfile().current_tenant
  const may = useMay()
  const client = useQueryClient()
  const [filters, change] = useFilters()
  const [name, setName] = useTyped(filters.search ?? '', (search) => change({ search }))
  const [action, setAction] = useTyped(filters.action ?? '', (action) => change({ action }))
  const query = useQuery({
    queryKey: ['policies', id, filters],
    queryFn: ({ signal }) =>
      call('GET /policies/', { query: { page_size: 25, ordering: 'name', ...filters } as never, signal }),
    placeholderData: (before) => before,
  })
  const clear = () => {
    setName('')
    setAction('')
    change(Object.fromEntries(filterNames.map((one) => [one, undefined])))
  }
  const isFiltered = filterNames.some((one) => filters[one])
  const create = may('policy:create') && (
    <Link className="button" data-kind="primary" to="/policies/$id" params={{ id: 'new' }}>
      <Icon name="plus" />
      {texts.create}
    </Link>
  )
  const empty = isFiltered ? (
    <Empty
      icon="search"
      title={texts.empty.noMatch}
      action={<Button onClick={clear}>{texts.empty.clear}</Button>}
    >
      {texts.empty.noMatchAbout}
    </Empty>
  ) : (
    <Empty icon="rules" title={texts.empty.title} action={create}>
      {texts.empty.about}
    </Empty>
  )
  return (
    <Page title={texts.title} about={texts.about} actions={create}>
      <div className="toolbar">
        <SearchField label={texts.search} value={name} onChange={(event) => setName(event.target.value)} />
        <FilterSelect
          label={texts.anyEffect}
          value={filters.effect}
          options={Object.entries(texts.effects)}
          onChange={(effect) => change({ effect })}
        />
        <FilterSelect
          label={texts.anyState}
          value={filters.is_active}
          options={Object.entries(texts.states)}
          onChange={(is_active) => change({ is_active })}
        />
        <FilterSelect
          label={texts.anyMode}
          value={filters.mode}
          options={Object.entries(texts.modes)}
          onChange={(mode) => change({ mode })}
        />
        <SearchField
          label={texts.anyAction}
          value={action}
          onChange={(event) => setAction(event.target.value)}
        />
      </div>
      <Card>
        <List query={query} change={change} empty={empty}>
          {(policies) => (
            <Table columns={texts.columns}>
              {policies.map((policy) => (
                <Row
                  key={policy.id}
                  policy={policy}
                  onChanged={() => client.invalidateQueries({ queryKey: ['policies'] })}
                />
              ))}
            </Table>
          )}
        </List>
      </Card>
    </Page>
  )
}

function Row({ policy, onChanged }: { policy: Policy; onChanged: () => void }) {
  const { id, name, description, effect, actions, managed_by, updated_at } = policy
  const [first = '', ...others] = actions
  return (
    <tr>
      <td>
        <Link className="row-button" to="/policies/$id" params={{ id }}>
          <bdi>{name}</bdi>
        </Link>
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
