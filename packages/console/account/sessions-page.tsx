import type { Session } from '@bailiwick/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { Badge, Button } from '../parts/button.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { Icon } from '../parts/icon.tsx'
import { Loading } from '../parts/loading.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { say, sayFault } from '../parts/toasts.tsx'
import { sessionQuery } from '../session/session.ts'
import { ApplicationsCard } from './applications-card.tsx'
import { deviceName } from './device-name.ts'
import { RevokeKeys, revokingKeys } from './revoke-keys.tsx'
import { texts } from './texts.ts'

const { sessions: words } = texts
const key = ['sessions']

export function SessionsPage() {
  const client = useQueryClient()
  const [ending, setEnding] = useState(false)
  const sessions = useQuery({
    queryKey: key,
    queryFn: ({ signal }) =>
      call('GET /auth/sessions/', { query: { page_size: 100, ordering: '-created_at' }, signal }),
  })
  const rows = sessions.data?.results ?? []
  const ordered = [...rows.filter(({ current }) => current), ...rows.filter(({ current }) => !current)]
  const end = async (id: string) => {
    try {
      await call('DELETE /auth/sessions/{id}/', { path: { id } })
      say(words.ended)
    } catch (error) {
      sayFault(error)
    }
    await client.invalidateQueries({ queryKey: key })
  }
  return (
    <Page
      title={words.title}
      about={words.about}
      width="text"
      actions={
        <Button kind="danger-quiet" icon="logout" onClick={() => setEnding(true)}>
          {words.all}
        </Button>
      }
    >
      <Card>
        {!sessions.data && <Loading query={sessions} rows={3} />}
        <ul className="rows">
          {ordered.map((session) => (
            <Row key={session.id} session={session} onEnd={() => end(session.id)} />
          ))}
        </ul>
      </Card>
      <ApplicationsCard />
      <FormDialog
        open={ending}
        onClose={() => setEnding(false)}
        danger
        title={words.allTitle}
        about={words.allAbout}
        go={words.all}
        submit={async (form) => {
          await call('POST /auth/logout-all/', { body: revokingKeys(form) })
          await client.invalidateQueries({ queryKey: sessionQuery.queryKey })
        }}
      >
        <RevokeKeys />
      </FormDialog>
    </Page>
  )
}

function Row({ session, onEnd }: { session: Session; onEnd: () => Promise<void> }) {
  const [busy, setBusy] = useState(false)
  const device = deviceName(session.user_agent)
  const name = device?.name ?? words.unknown
  return (
    <li>
      <span className="rows-icon">
        <Icon name={device?.mobile ? 'phone' : 'laptop'} />
      </span>
      <div className="what">
        <p title={session.user_agent}>
          <bdi>{name}</bdi>
        </p>
        <p className="muted small">
          {session.ip} · {words.signedIn} <Time at={session.created_at} />, {words.used}{' '}
          <Time at={session.last_used_at} />
        </p>
      </div>
      {session.acr === 'aal2' && (
        <Badge tone="good">
          <Icon name="shield" size={12} />
          {words.strong}
        </Badge>
      )}
      {session.current ? (
        <Badge tone="accent">{words.current}</Badge>
      ) : (
        <Button
          busy={busy}
          aria-label={`${words.notMe}: ${name}`}
          onClick={() => {
            setBusy(true)
            void onEnd()
          }}
        >
          {words.notMe}
        </Button>
      )}
    </li>
  )
}
