import type { ApprovalRequest } from '@bailiwick/client'
import { Link } from '@tanstack/react-router'
import { call } from '../api/client.ts'
import { asRequest } from '../audit/in-words.ts'
import { Badge } from '../parts/button.tsx'
import { useFilters } from '../parts/filters.ts'
import { OpenLink } from '../parts/links.tsx'
import { ListPage } from '../parts/list.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { Time } from '../parts/time.tsx'
import { choice } from '../parts/toolbar.tsx'
import { Requester } from './facts.tsx'
import { texts } from './texts.ts'

export const tones = {
  pending: 'warn',
  approved: 'good',
  rejected: 'danger',
  cancelled: undefined,
  expired: undefined,
  executed: 'accent',
} as const
type Status = keyof typeof tones

export function ApprovalsPage() {
  const [{ tab }, change] = useFilters()
  const all = tab === 'all'
  const tabs = (
    <Tabs
      label={texts.title}
      tabs={texts.tabs}
      shown={all ? 'all' : 'pending'}
      onChange={(tab) => change({ tab: tab === 'all' ? tab : undefined, status: undefined })}
    />
  )
  return (
    <ListPage
      {...texts}
      name="approvals"
      head={tabs}
      empty={{ icon: 'approve', ...(all ? texts.none : texts.empty) }}
      fields={all ? [choice('status', texts.anyStatus, texts.status)] : []}
      read={({ status, cursor }, signal) =>
        all
          ? call('GET /approval-requests/', {
              query: { page_size: 25, ordering: '-created_at', status: status as Status | undefined, cursor },
              signal,
            })
          : call('GET /approval-requests/pending/', { query: { page_size: 25, cursor }, signal })
      }
      row={(request) => <Row request={request} />}
    />
  )
}

function Row({ request }: { request: ApprovalRequest }) {
  const { id, action, status, votes, required_approvals: needed, created_at: at } = request
  const given = votes.filter(({ decision }) => decision === 'approve').length
  return (
    <tr>
      <td>
        <Link className="row-button" to="/approvals/$id" params={{ id }}>
          {asRequest(action)}
        </Link>
        {request.kind === 'application' && (
          <bdi className="muted small block clip">{request.resource_id}</bdi>
        )}
      </td>
      <td className="muted">
        <Requester request={request} />
      </td>
      <td>
        <Badge tone={tones[status]}>{texts.status[status]}</Badge>
      </td>
      <td className="muted" data-title={texts.columns[3]}>
        {texts.votes(given, needed)}
      </td>
      <td className="muted">
        <Time at={at} />
      </td>
      <td className="end">
        <OpenLink to="/approvals/$id" params={{ id }} label={texts.open(asRequest(action))} />
      </td>
    </tr>
  )
}
