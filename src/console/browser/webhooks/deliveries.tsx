import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { Delivery, Webhook } from '../../../client/api-types.ts'
import { call } from '../api/client.ts'
import { approvable } from '../parts/approvable.ts'
import { Badge, Button } from '../parts/button.tsx'
import { SearchField } from '../parts/field.tsx'
import { FilterSelect } from '../parts/filter-select.tsx'
import { useFilters, useTyped } from '../parts/filters.ts'
import { List, Table } from '../parts/list.tsx'
import { Empty } from '../parts/notice.tsx'
import { Card } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { sayFault } from '../parts/toasts.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { texts } from './texts.ts'

const { deliveries: words } = texts
const tones = { pending: undefined, succeeded: 'good', failed: 'warn', dead: 'danger' } as const
type Status = keyof typeof tones

/** What was sent to a webhook, newest first. While something waits, the list follows it. */
export function Deliveries({ webhook }: { webhook: Webhook }) {
  const { id } = webhook
  const { id: tenant } = useProfile().current_tenant
  const [{ status, event_type, cursor }, change] = useFilters()
  const [typed, setTyped] = useTyped(event_type ?? '', (type) => change({ event_type: type }))
  const query = useQuery({
    queryKey: ['webhooks', tenant, 'deliveries', id, status, event_type, cursor],
    queryFn: ({ signal }) =>
      call('GET /webhooks/{id}/deliveries/', {
        path: { id },
        query: { page_size: 25, status: status as Status | undefined, event_type, cursor },
        signal,
      }),
    placeholderData: (before) => before,
    refetchInterval: ({ state }) =>
      state.data?.results.some(({ status }) => status === 'pending') ? 2_000 : false,
  })
  const filtered = Boolean(status || event_type)
  const clear = () => {
    setTyped('')
    change({ status: undefined, event_type: undefined })
  }
  return (
    <Card title={words.title} about={words.about}>
      <div className="toolbar card-toolbar">
        <SearchField label={words.type} value={typed} onChange={(event) => setTyped(event.target.value)} />
        <FilterSelect
          label={words.anyStatus}
          value={status}
          options={Object.entries(words.status)}
          onChange={(one) => change({ status: one })}
        />
      </div>
      <List
        query={query}
        change={change}
        empty={
          filtered ? (
            <Empty
              icon="search"
              title={words.none.title}
              action={<Button onClick={clear}>{words.none.clear}</Button>}
            >
              {words.none.about}
            </Empty>
          ) : (
            <Empty icon="send" title={words.empty.title}>
              {words.empty.about}
            </Empty>
          )
        }
      >
        {(deliveries) => (
          <Table columns={words.columns}>
            {deliveries.map((delivery) => (
              <Row key={delivery.id} webhook={webhook} delivery={delivery} />
            ))}
          </Table>
        )}
      </List>
    </Card>
  )
}

function Row({ webhook, delivery }: { webhook: Webhook; delivery: Delivery }) {
  const client = useQueryClient()
  const may = useMay()
  const { event_type: type, status, response_status: answer, next_attempt_at: next } = delivery
  const replay = () =>
    approvable(
      () =>
        call('POST /webhooks/{id}/deliveries/{did}/replay/', { path: { id: webhook.id, did: delivery.id } }),
      words.replayed,
    )
      .then(() => client.invalidateQueries({ queryKey: ['webhooks'] }))
      .catch(sayFault)
  return (
    <tr>
      <td>
        <code>{type}</code>
      </td>
      <td>
        <Badge tone={tones[status]}>{words.status[status]}</Badge>
        {status !== 'succeeded' && next && (
          <span className="muted small block">
            {words.next} <Time at={next} />
          </span>
        )}
      </td>
      <td className="muted" data-title={words.columns[2]}>
        {answer ?? (delivery.attempt > 0 ? words.noAnswer : '')}
        <span className="small block">
          <bdi>{answer === 429 ? words.slow : delivery.error}</bdi>
          {answer !== null && delivery.duration_ms !== null && answer !== 429 && !delivery.error
            ? words.took(delivery.duration_ms)
            : ''}
        </span>
      </td>
      <td className="muted" data-title={words.columns[3]}>
        {delivery.attempt}
      </td>
      <td className="muted">
        <Time at={delivery.created_at} />
      </td>
      <td className="end">
        {status !== 'pending' && webhook.managed_by === null && may('webhook:replay') && (
          <Button
            kind="quiet"
            icon="history"
            aria-label={words.replayOf(type)}
            title={words.replay}
            onClick={() => void replay()}
          />
        )}
      </td>
    </tr>
  )
}
