import type { Logger } from 'pino'
import { nilUuid } from '../../crypto/uuid.ts'
import { readAsWorker, readInTenant } from '../../database/executor/read.ts'
import { asWorker, type Databases } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { requestedWait } from '../../events/webhooks/conclude-attempt.ts'
import { waitAfter } from '../../events/webhooks/next-attempt.ts'
import type { Answer, Poster } from '../../events/webhooks/post-event.ts'
import { acknowledge } from '../../messages/outbox/acknowledge.ts'
import { untilRecorded } from '../../messages/outbox/until-recorded.ts'
import { version } from '../../settings/version.ts'
import { findUsableClient, type UsableClient } from '../clients/store.ts'
import { logoutToken } from './logout-token.ts'
import { claimLogout, delayLogout, endLogout, findLogout, type LogoutKey, type LogoutRow } from './store.ts'

/** What telling clients needs. */
export interface TellDeps {
  db: Pick<Databases, 'worker'>
  /** ms since 1970 */
  clock: () => number
  log: Logger
  /** For the keys and the clients. */
  service: Deps
  poster: Poster
}

/** ms for which a client is told again. */
const giveUpAfter = 86_400_000

/** ms for which a claim is exclusive: 10 s for an attempt, and the rest to record it while Postgres is away. */
const claimDuration = 30_000

/** A client with the URI at which it is told. */
export type Listener = UsableClient & { backchannel_logout_uri: string }

/** The client of a logout that is not over; null if it is gone, disabled, or wants no logouts any more. */
export async function findListener(
  { db, service }: Pick<TellDeps, 'db' | 'service'>,
  key: LogoutKey,
): Promise<Listener | null> {
  const logout = await readAsWorker(db, (read) => findLogout(read, key))
  if (logout?.status !== 'pending') return null
  const { tenantId } = key
  const client = await readInTenant(service.db, { tenantId, userId: nilUuid }, (read) =>
    findUsableClient(read, { tenantId, id: logout.client_id }),
  )
  return client?.backchannel_logout_uri ? (client as Listener) : null
}

/**
 * Tells a client that a session ended, if that is due, with a logout token that is signed now. Gives the ms after which the
 * message must come again; null when it is done: the client answered 200 or 204, a day is over, or there is no client.
 */
export async function tellClient(
  deps: TellDeps,
  client: Listener | null,
  message: LogoutKey & { id: string },
): Promise<number | null> {
  const { db, clock, log, service, poster } = deps
  const at = clock()
  const claimed =
    client && (await asWorker(db, (tx) => claimLogout(tx, message, { at, until: at + claimDuration })))
  if (!client || !claimed) return finish(deps, message, client)
  const body = new URLSearchParams({ logout_token: await logoutToken(service, client, claimed) })
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'user-agent': `Bailiwick/${version}`,
  }
  const answer = await poster.post(client.backchannel_logout_uri, headers, body.toString())
  const facts = { tenant_id: message.tenantId, logout_id: message.logoutId, attempt: claimed.attempts }
  logAnswer(log, facts, answer)
  return untilRecorded(log, facts, () => conclude(deps, message, claimed, answer))
}

/** OpenID Connect Back-Channel Logout 1.0 §2.8. */
const wasTold = ({ status }: Answer) => status === 200 || status === 204

function logAnswer(log: Logger, facts: object, answer: Answer): void {
  const { status, reason, duration } = answer
  const all = { ...facts, response_status: status, duration_ms: duration, ...(reason && { error: reason }) }
  if (wasTold(answer)) log.debug(all, 'a client was told of a logout')
  else log.info(all, 'a client was not told of a logout')
}

async function conclude(
  { db, clock }: TellDeps,
  message: LogoutKey & { id: string },
  { attempts, created_at }: LogoutRow,
  answer: Answer,
): Promise<number | null> {
  const at = clock()
  const { status } = answer
  const wait = waitAfter(attempts, requestedWait(answer))
  const isOver = at + wait > created_at + giveUpAfter
  if (wasTold(answer) || isOver) {
    const to = wasTold(answer) ? 'delivered' : 'failed'
    await acknowledge(db, keyOf(message), async (tx) => endLogout(tx, message, { to, status, at }))
    return null
  }
  await asWorker(db, async (tx) => delayLogout(tx, message, { attempts, status, next: at + wait }))
  return wait
}

/** Ends a message that has nothing to tell; gives the ms to wait for one whose attempt is not due yet. */
async function finish(
  { db, clock }: TellDeps,
  message: LogoutKey & { id: string },
  client: Listener | null,
): Promise<number | null> {
  const logout = client && (await readAsWorker(db, (read) => findLogout(read, message)))
  if (logout?.status === 'pending') return Math.max(0, logout.next_attempt_at! - clock())
  await acknowledge(db, keyOf(message), async (tx) =>
    endLogout(tx, message, { to: 'failed', status: null, at: clock() }),
  )
  return null
}

const keyOf = ({ tenantId, id }: { tenantId: string; id: string }) => ({ tenantId, id, queue: 'logout' })
