import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Decision } from '../../../client/api-types.ts'
import { call } from '../api/client.ts'
import { asRequest } from '../audit/in-words.ts'
import { Button } from '../parts/button.tsx'
import { DayFilter, dayRange } from '../parts/day-filter.tsx'
import { SearchField } from '../parts/field.tsx'
import { FilterSelect } from '../parts/filter-select.tsx'
import { useFilters, useTyped } from '../parts/filters.ts'
import { Icon } from '../parts/icon.tsx'
import { List, Table } from '../parts/list.tsx'
import { Empty } from '../parts/notice.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { EffectBadge } from '../policies/badges.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { texts } from './texts.ts'

const names = ['action', 'effect', 'subject_id', 'resource_type', 'from', 'to'] as const

export function DecisionsPage() {
  const { id: tenant } = useProfile().current_tenant
  const may = useMay()
  const [filters, change] = useFilters()
  const [action, setAction] = useTyped(filters.action ?? '', (action) => change({ action }))
  const [type, setType] = useTyped(filters.resource_type ?? '', (resource_type) => change({ resource_type }))
  const { from, to, ...asked } = filters
  const query = useQuery({
    queryKey: ['decisions', tenant, filters],
    queryFn: ({ signal }) =>
      call('GET /decisions/', {
        query: { page_size: 25, ...asked, ...dayRange(from, to) } as never,
        signal,
      }),
    placeholderData: (before) => before,
  })
  const clear = () => {
    setAction('')
    setType('')
    change(Object.fromEntries(names.map((one) => [one, undefined])))
  }
  return (
    <Page title={texts.title} about={may('decision:list') ? texts.about : texts.aboutOwn}>
      <div className="toolbar">
        <SearchField
          label={texts.action}
          value={action}
          onChange={(event) => setAction(event.target.value)}
        />
        <FilterSelect
          label={texts.anyOutcome}
          value={filters.effect}
          options={Object.entries(texts.outcomes)}
          onChange={(effect) => change({ effect })}
        />
        <input
          className="input"
          aria-label={texts.resourceType}
          placeholder={texts.resourceType}
          value={type}
          onChange={(event) => setType(event.target.value)}
        />
        <DayFilter label={texts.from} value={from} onChange={(day) => change({ from: day })} />
        <DayFilter label={texts.to} value={to} onChange={(day) => change({ to: day })} />
      </div>
      {filters.subject_id && (
        <div className="line">
          <span className="token">
            {texts.subject} <code>{filters.subject_id.slice(-12)}</code>
            <button
              type="button"
              aria-label={texts.empty.clear}
              onClick={() => change({ subject_id: undefined })}
            >
              <Icon name="close" size={12} />
            </button>
          </span>
        </div>
      )}
      <Card>
        <List
          query={query}
          change={change}
          empty={
            <Empty
              icon="question"
              title={texts.empty.title}
              action={<Button onClick={clear}>{texts.empty.clear}</Button>}
            >
              {texts.empty.about}
            </Empty>
          }
        >
          {(decisions) => (
            <Table columns={texts.columns}>
              {decisions.map((one) => (
                <Row key={one.id} decision={one} />
              ))}
            </Table>
          )}
        </List>
      </Card>
    </Page>
  )
}

function Row({ decision }: { decision: Decision }) {
  const { id, action, resource, subject, effect, at } = decision
  return (
    <tr>
      <td>
        <Link className="row-button" to="/decisions/$id" params={{ id }}>
          {asRequest(action)}
        </Link>
        <code className="muted small block">{action}</code>
      </td>
      <td className="muted">
        {resource.type.replaceAll('_', ' ')}{' '}
        {resource.id && <code title={resource.id}>{resource.id.slice(-12)}</code>}
      </td>
      <td>
        <bdi>{subject.email ?? subject.id}</bdi>
      </td>
      <td>
        <EffectBadge effect={effect} words={texts.outcomes} />
      </td>
      <td className="muted">
        <Time at={at} />
      </td>
      <td className="end">
        <Link
          className="button"
          data-kind="quiet"
          data-size="icon"
          to="/decisions/$id"
          params={{ id }}
          aria-label={texts.open(asRequest(action))}
        >
          <Icon name="arrow" />
        </Link>
      </td>
    </tr>
  )
}
