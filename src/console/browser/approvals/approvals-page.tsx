import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ApprovalRequest } from '../../../client/api-types.ts'
import { call } from '../api/client.ts'
import { asRequest } from '../audit/in-words.ts'
import { Badge } from '../parts/button.tsx'
import { FilterSelect } from '../parts/filter-select.tsx'
import { useFilters } from '../parts/filters.ts'
import { Icon } from '../parts/icon.tsx'
import { List, Table } from '../parts/list.tsx'
import { Empty } from '../parts/notice.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { useProfile } from '../session/session.ts'
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
  const { id } = useProfile().current_tenant
  const [filters, change] = useFilters()
  const { tab, status, cursor } = filters
  const all = tab === 'all'
  const query = useQuery({
    queryKey: ['approvals', id, filters],
    queryFn: ({ signal }) =>
      all
        ? call('GET /approval-requests/', {
            query: { page_size: 25, ordering: '-created_at', status: status as Status | undefined, cursor },
            signal,
          })
        : call('GET /approval-requests/pending/', { query: { page_size: 25, cursor }, signal }),
    placeholderData: (before) => before,
  })
  const { title, about } = all ? texts.none : texts.empty
  return (
    <Page title={texts.title} about={texts.about}>
      <nav className="tabs" aria-label={texts.title}>
        {(['pending', 'all'] as const).map((one) => (
          <button
            type="button"
            key={one}
            aria-current={(one === 'all') === all ? 'page' : undefined}
            onClick={() => change({ tab: one === 'all' ? 'all' : undefined, status: undefined })}
          >
            {texts.tabs[one]}
          </button>
        ))}
      </nav>
      {all && (
        <div className="toolbar">
          <FilterSelect
            label={texts.anyStatus}
            value={status}
            options={(Object.keys(tones) as Status[]).map((one) => [one, texts.status[one]])}
            onChange={(one) => change({ status: one })}
          />
        </div>
      )}
      <Card>
        <List
          query={query}
          change={change}
          empty={
            <Empty icon="approve" title={title}>
              {about}
            </Empty>
          }
        >
          {(requests) => (
            <Table columns={texts.columns}>
              {requests.map((request) => (
                <Row key={request.id} request={request} />
              ))}
            </Table>
          )}
        </List>
      </Card>
    </Page>
  )
}

function Row({ request }: { request: ApprovalRequest }) {
  const { id, action, requester, status, votes, required_approvals: needed, created_at: at } = request
  const given = votes.filter(({ decision }) => decision === 'approve').length
  return (
    <tr>
      <td>
        <Link className="row-button" to="/approvals/$id" params={{ id }}>
          {asRequest(action)}
        </Link>
      </td>
      <td className="muted">
        <bdi>{requester.email}</bdi>
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
        <Link
          className="button"
          data-kind="quiet"
          data-size="icon"
          to="/approvals/$id"
          params={{ id }}
          aria-label={texts.open(asRequest(action))}
        >
          <Icon name="arrow" />
        </Link>
      </td>
    </tr>
  )
}
