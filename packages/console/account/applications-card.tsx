import type { Authorization } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { changed } from '../parts/approvable.ts'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { Card } from '../parts/page.tsx'
import { Removal } from '../parts/removal.tsx'
import { scopeTexts } from '../parts/scope-texts.ts'
import { Time } from '../parts/time.tsx'
import { texts } from './texts.ts'

const { applications: words } = texts
const key = 'authorizations'

/** The applications that a person signed in to. Without one there is no card. */
export function ApplicationsCard() {
  const [asked, setAsked] = useState<Authorization | null>(null)
  const { data } = useQuery({
    queryKey: [key],
    queryFn: ({ signal }) =>
      call('GET /users/me/authorizations/', { query: { page_size: 100, ordering: '-created_at' }, signal }),
  })
  if (!data?.results.length) return null
  const remove = ({ id }: Authorization) =>
    changed(key, () => call('DELETE /users/me/authorizations/{id}/', { path: { id } }), words.removed)
  return (
    <Card title={words.title} about={words.about}>
      <ul className="rows">
        {data.results.map((one) => (
          <li key={one.id}>
            <span className="rows-icon">
              <Icon name="grid" />
            </span>
            <div className="what">
              <p>
                <bdi>{nameOf(one)}</bdi>
              </p>
              <p className="muted small">
                <bdi>{one.tenant.name}</bdi> ·{' '}
                {one.scopes.map((scope) => scopeTexts[scope]?.[0] ?? scope).join(', ')}
              </p>
              <p className="muted small">
                {texts.sessions.signedIn} <Time at={one.created_at} />, {texts.sessions.used}{' '}
                <Time at={one.last_used_at} />
              </p>
            </div>
            <Button aria-label={words.removeOf(nameOf(one))} onClick={() => setAsked(one)}>
              {words.remove}
            </Button>
          </li>
        ))}
      </ul>
      {asked && (
        <Removal
          texts={words}
          name={nameOf(asked)}
          remove={() => remove(asked)}
          onClose={() => setAsked(null)}
        />
      )}
    </Card>
  )
}

const nameOf = ({ client }: Authorization) => client.name || words.deleted
