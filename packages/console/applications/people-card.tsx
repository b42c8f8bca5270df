import type { OAuthClient, OAuthGrant } from '@bailiwick/client'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { changed } from '../parts/approvable.ts'
import { Badges, Button } from '../parts/button.tsx'
import { FilteredList } from '../parts/list.tsx'
import { Removal } from '../parts/removal.tsx'
import { Time } from '../parts/time.tsx'
import { useMay } from '../session/session.ts'
import { texts } from './texts.ts'

const { people: words } = texts

/** Who is signed in to an application, and what it may do for them. */
export function PeopleCard({ client: { id } }: { client: OAuthClient }) {
  const may = useMay()
  const [asked, setAsked] = useState<OAuthGrant | null>(null)
  const end = (grant: OAuthGrant) =>
    changed('grants', () => call('DELETE /oauth-grants/{id}/', { path: { id: grant.id } }), words.removed)
  return (
    <>
      <FilteredList
        {...words}
        card={words}
        name="grants"
        of={id}
        empty={{ icon: 'people', ...words.empty }}
        read={({ cursor }, signal) =>
          call('GET /oauth-grants/', {
            query: { client_id: id, page_size: 25, ordering: '-created_at', cursor },
            signal,
          })
        }
        row={(grant) => (
          <tr>
            <td>
              <bdi>{nameOf(grant)}</bdi>
            </td>
            <td>
              <Badges of={grant.scopes.map((scope) => texts.scopes[scope]?.[0] ?? scope)} />
            </td>
            <td className="muted" data-title={words.columns[2]}>
              <Time at={grant.created_at} />
            </td>
            <td className="muted" data-title={words.columns[3]}>
              <Time at={grant.last_used_at} />
            </td>
            <td className="end">
              {may('oauth_grant:revoke') && (
                <Button
                  kind="quiet"
                  icon="close"
                  title={words.remove}
                  aria-label={words.endOf(nameOf(grant))}
                  onClick={() => setAsked(grant)}
                />
              )}
            </td>
          </tr>
        )}
      />
      {asked && (
        <Removal
          texts={words}
          name={nameOf(asked)}
          remove={() => end(asked)}
          onClose={() => setAsked(null)}
        />
      )}
    </>
  )
}

const nameOf = ({ user }: OAuthGrant) => user.email ?? words.left
