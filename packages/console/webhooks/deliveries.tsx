import type { Delivery, Webhook } from '@bailiwick/client'
import { call } from '../api/client.ts'
import { changed } from '../parts/approvable.ts'
import { Badge, Button } from '../parts/button.tsx'
import { FilteredList } from '../parts/list.tsx'
import { Time } from '../parts/time.tsx'
import { sayFault } from '../parts/toasts.tsx'
import { choice } from '../parts/toolbar.tsx'
import { useMay } from '../session/session.ts'
import { texts } from './texts.ts'

const { deliveries: words } = texts
const tones = { pending: undefined, succeeded: 'good', failed: 'warn', dead: 'danger' } as const
type Status = keyof typeof tones

/** What was sent to a webhook, newest first. While something waits, the list follows it. */
export function Deliveries({ webhook }: { webhook: Webhook }) {
  const { id } = webhook
  return (
    <FilteredList
      {...words}
      card={words}
      name="webhooks"
      of={id}
      empty={{ icon: 'send', ...words.empty }}
      fields={[{ name: 'event_type', label: words.type }, choice('status', words.anyStatus, words.status)]}
      read={({ status, event_type, cursor }, signal) =>
        call('GET /webhooks/{id}/deliveries/', {
          path: { id },
          query: { page_size: 25, status: status as Status | undefined, event_type, cursor },
          signal,
        })
      }
      poll={(rows) => rows.some(({ status }) => status === 'pending') && 2_000}
      row={(delivery) => <Row webhook={webhook} delivery={delivery} />}
    />
  )
}

function Row({ webhook, delivery }: { webhook: Webhook; delivery: Delivery }) {
  const may = useMay()
  const { event_type: type, status, response_status: answer, next_attempt_at: next } = delivery
  const replay = () =>
    changed(
      'webhooks',
      () =>
        call('POST /webhooks/{id}/deliveries/{did}/replay/', { path: { id: webhook.id, did: delivery.id } }),
      words.replayed,
    ).catch(sayFault)
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
