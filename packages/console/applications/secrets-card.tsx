import type { OAuthClient, OAuthClientSecret } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { changed } from '../parts/approvable.ts'
import { Button } from '../parts/button.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { List } from '../parts/list.tsx'
import { Card } from '../parts/page.tsx'
import { Removal } from '../parts/removal.tsx'
import { SecretDialog } from '../parts/secret-dialog.tsx'
import { Time } from '../parts/time.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { texts } from './texts.ts'

const { secrets: words } = texts

/** The secrets of an application. */
export function SecretsCard({ client: { id, first_party } }: { client: OAuthClient }) {
  const { roles, current_tenant } = useProfile()
  const may = useMay()
  const [asked, setAsked] = useState<OAuthClientSecret | 'new' | null>(null)
  const [made, setMade] = useState<string | null>(null)
  const query = useQuery({
    queryKey: ['clients', current_tenant.id, 'secrets', id],
    queryFn: async ({ signal }) => {
      const { results } = await call('GET /oauth-clients/{id}/secrets/', { path: { id }, signal })
      return { results, next: null, previous: null }
    },
  })
  const close = () => setAsked(null)
  const make = async () => {
    const { secret } = await call('POST /oauth-clients/{id}/secrets/', { path: { id } })
    setMade(secret)
  }
  const remove = (sid: string) =>
    changed(
      'clients',
      () => call('DELETE /oauth-clients/{id}/secrets/{sid}/', { path: { id, sid } }),
      words.removed,
    )
  const demotes = first_party && !roles.includes('owner')
  const canMake = may('oauth_client:update') && query.data && query.data.results.length < 2
  return (
    <Card
      title={words.title}
      about={words.about}
      actions={
        canMake && (
          <Button icon="plus" onClick={() => setAsked('new')}>
            {words.create}
          </Button>
        )
      }
    >
      <List
        query={query}
        columns={words.columns}
        empty={{ icon: 'key', ...words.empty }}
        row={(secret) => (
          <tr>
            <td>
              <Time at={secret.created_at} />
            </td>
            <td className="muted" data-title={words.columns[1]}>
              {secret.last_used_at ? <Time at={secret.last_used_at} /> : texts.never}
            </td>
            <td className="end">
              {may('oauth_client:delete') && (
                <Button
                  kind="quiet"
                  icon="trash"
                  aria-label={words.delete}
                  onClick={() => setAsked(secret)}
                />
              )}
            </td>
          </tr>
        )}
      />
      {asked === 'new' && (
        <FormDialog
          open
          onClose={close}
          title={words.creating.title}
          about={demotes ? `${words.creating.about} ${words.creating.demotes}` : words.creating.about}
          go={words.creating.go}
          submit={() => changed('clients', make, words.created)}
        />
      )}
      {asked !== null && asked !== 'new' && (
        <Removal texts={words} name="" remove={() => remove(asked.id)} onClose={close} />
      )}
      {made && <SecretDialog title={words.kept} secret={made} onDone={() => setMade(null)} />}
    </Card>
  )
}
