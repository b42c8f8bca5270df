import type { Identity } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { changed } from '../parts/approvable.ts'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { Card } from '../parts/page.tsx'
import { Removal } from '../parts/removal.tsx'
import { Time } from '../parts/time.tsx'
import { texts } from './texts.ts'

const { identities: words } = texts
const key = 'identities'

/** The accounts at other providers that a person signs in with. Without one there is no card. */
export function IdentitiesCard() {
  const [asked, setAsked] = useState<Identity | null>(null)
  const { data } = useQuery({
    queryKey: [key],
    queryFn: ({ signal }) =>
      call('GET /users/me/identities/', { query: { page_size: 100, ordering: '-created_at' }, signal }),
  })
  if (!data?.results.length) return null
  const remove = ({ id }: Identity) =>
    changed(key, () => call('DELETE /users/me/identities/{id}/', { path: { id } }), words.removed)
  return (
    <Card title={words.title} about={words.about}>
      <ul className="rows">
        {data.results.map((one) => (
          <li key={one.id}>
            <span className="rows-icon">
              <Icon name="link" />
            </span>
            <div className="what">
              <p>
                <bdi>{nameOf(one)}</bdi>
              </p>
              <p className="muted small">
                {one.email && (
                  <>
                    <bdi>{one.email}</bdi> ·{' '}
                  </>
                )}
                {words.linked} <Time at={one.created_at} />
                {', '}
                {one.last_used_at ? (
                  <>
                    {texts.sessions.used} <Time at={one.last_used_at} />
                  </>
                ) : (
                  words.unused
                )}
              </p>
            </div>
            <Button
              kind="quiet"
              icon="trash"
              aria-label={words.removeOf(nameOf(one))}
              onClick={() => setAsked(one)}
            />
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

const nameOf = ({ provider }: Identity) => provider.name ?? words.gone
