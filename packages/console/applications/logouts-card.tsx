import type { OAuthClient, OAuthLogout } from '@bailiwick/client'
import { call } from '../api/client.ts'
import { Badge } from '../parts/button.tsx'
import { FilteredList } from '../parts/list.tsx'
import { Time } from '../parts/time.tsx'
import { choice } from '../parts/toolbar.tsx'
import { texts } from './texts.ts'

const { logouts: words } = texts
const tones = { pending: undefined, delivered: 'good', failed: 'danger' } as const

/** What an application was told of sessions that ended, newest first. While it is being told, the list follows. */
export const LogoutsCard = ({ client: { id } }: { client: OAuthClient }) => (
  <FilteredList
    {...words}
    card={words}
    name="logouts"
    of={id}
    empty={{ icon: 'logout', ...words.empty }}
    fields={[choice('status', words.anyStatus, words.status)]}
    read={({ status, cursor }, signal) =>
      call('GET /oauth-clients/{id}/logouts/', {
        path: { id },
        query: { page_size: 25, status: status as OAuthLogout['status'] | undefined, cursor },
        signal,
      })
    }
    poll={(rows) => rows.some(({ status }) => status === 'pending') && 2_000}
    row={({ sid, status, attempts, response_status: answer, created_at, next_attempt_at: next }) => (
      <tr>
        <td>
          <code className="clip">{sid}</code>
        </td>
        <td>
          <Badge tone={tones[status]}>{words.status[status]}</Badge>
          {status === 'pending' && next && (
            <span className="muted small block">
              {words.next} <Time at={next} />
            </span>
          )}
        </td>
        <td className="muted" data-title={words.columns[2]}>
          {answer ?? (attempts > 0 ? words.noAnswer : '')}
        </td>
        <td className="muted" data-title={words.columns[3]}>
          {attempts}
        </td>
        <td className="muted" data-title={words.columns[4]}>
          <Time at={created_at} />
        </td>
        <td className="end" />
      </tr>
    )}
  />
)
