import { useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { Badge } from '../parts/button.tsx'
import { Facts } from '../parts/facts.tsx'
import { FilteredList } from '../parts/list.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { choice } from '../parts/toolbar.tsx'
import { useProfile } from '../session/session.ts'
import { ConnectCard } from './connect-card.tsx'
import { RulesCard } from './rules-card.tsx'
import { texts } from './texts.ts'

export function DirectoryPage() {
  return (
    <Page title={texts.title} about={texts.about}>
      <Counts />
      <ConnectCard />
      <RulesCard />
      <RequestsCard />
    </Page>
  )
}

function Counts() {
  const { id } = useProfile().current_tenant
  const { data } = useQuery({
    queryKey: ['directory', id, 'overview'],
    queryFn: ({ signal }) => call('GET /directory/', { signal }),
  })
  if (!data) return null
  const { users, groups, last_request_at: last } = data
  return (
    <Card>
      <Facts
        of={[
          [texts.facts.users, String(users)],
          [texts.facts.groups, String(groups)],
          [texts.facts.last, last ? <Time at={last} /> : texts.never],
        ]}
      />
    </Card>
  )
}

function RequestsCard() {
  const { log: words } = texts
  return (
    <FilteredList
      {...words}
      card={words}
      name="directory"
      of="requests"
      empty={{ icon: 'scroll', ...words.empty }}
      fields={[choice('failed', words.any, words.outcomes)]}
      read={({ failed, cursor }, signal) =>
        call('GET /directory/log/', { query: { page_size: 25, failed: failed as never, cursor }, signal })
      }
      row={({ method, path, status, detail, at }) => (
        <tr>
          <td>
            <code className="small">
              {method} {path}
            </code>
          </td>
          <td className="wide-cell">
            <Badge tone={status < 400 ? 'good' : 'danger'}>{status}</Badge>
            {detail && <span className="muted small block">{detail}</span>}
          </td>
          <td className="muted">
            <Time at={at} />
          </td>
          <td />
        </tr>
      )}
    />
  )
}
