import type { Connection, ConnectionSignIn } from '@bailiwick/client'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { UserName } from '../members/user-name.tsx'
import { Badge, Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Facts } from '../parts/facts.tsx'
import { FilteredList } from '../parts/list.tsx'
import { Time } from '../parts/time.tsx'
import { choice } from '../parts/toolbar.tsx'
import { texts } from './texts.ts'

const { signIns: words } = texts
const tones = { signed_in: 'good', joined: 'accent', refused: 'danger' } as const

/** The last sign-ins by a connection, with what the provider said, and why one was refused. */
export function SignInsCard({ connection: { id } }: { connection: Connection }) {
  const [open, setOpen] = useState<ConnectionSignIn | null>(null)
  return (
    <>
      <FilteredList
        {...words}
        card={words}
        name="connections"
        of={`sign-ins of ${id}`}
        empty={{ icon: 'scroll', ...words.empty }}
        fields={[choice('outcome', words.anyOutcome, words.outcomes)]}
        read={({ outcome, cursor }, signal) =>
          call('GET /connections/{id}/sign-ins/', {
            path: { id },
            query: { page_size: 10, outcome: outcome as ConnectionSignIn['outcome'] | undefined, cursor },
            signal,
          })
        }
        row={(signIn) => <Row signIn={signIn} onOpen={() => setOpen(signIn)} />}
      />
      <Dialog wide open={open !== null} onClose={() => setOpen(null)} title={words.entry.title}>
        {open && <Entry signIn={open} />}
      </Dialog>
    </>
  )
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
const emailIn = ({ claims }: ConnectionSignIn) => (claims?.email ? textOf(claims.email) : null)

function Row({ signIn, onOpen }: { signIn: ConnectionSignIn; onOpen: () => void }) {
  const { user_id: userId, outcome, reason, at } = signIn
  const email = emailIn(signIn)
  return (
    <tr>
      <td>
        <button type="button" className="row-button" onClick={onOpen}>
          {userId ? <UserName id={userId} /> : <bdi>{email ?? words.unknown}</bdi>}
        </button>
        {userId && email && (
          <span className="muted small block">
            <bdi>{email}</bdi>
          </span>
        )}
      </td>
      <td className="wide-cell">
        <Badge tone={tones[outcome]}>{words.outcomes[outcome]}</Badge>
        {reason && <span className="muted small block">{reason}</span>}
      </td>
      <td className="muted">
        <Time at={at} />
      </td>
      <td className="end">
        <Button kind="quiet" icon="eye" aria-label={words.details(email ?? words.unknown)} onClick={onOpen} />
      </td>
    </tr>
  )
}

function Entry({ signIn }: { signIn: ConnectionSignIn }) {
  const { entry } = words
  const { user_id: userId, outcome, code, reason, at, claims } = signIn
  return (
    <div className="dialog-body">
      <Facts
        of={[
          [entry.at, <Time at={at} form="exact" />],
          [entry.person, userId && <UserName id={userId} />],
          [entry.outcome, <Badge tone={tones[outcome]}>{words.outcomes[outcome]}</Badge>],
          [entry.reason, reason],
          [entry.code, code && <code>{code}</code>],
        ]}
      />
      <h3>{entry.claims}</h3>
      {claims ? (
        <Facts of={Object.entries(claims).map(([name, value]) => [name, <code>{textOf(value)}</code>])} />
      ) : (
        <p className="muted">{entry.none}</p>
      )}
    </div>
  )
}
