import { didYouMean, Misuse, sentence } from '../src/cli/options.ts'
import { measureCircuits } from '../src/events/webhooks/store.ts'
import { withTimeLimit } from '../src/limits/time-limit.ts'
import { measureBacklog } from '../src/messages/outbox/measure-backlog.ts'
import { openQueueBackend } from '../src/messages/queues/queue-backend.ts'
import { queues } from '../src/messages/queues/queues.ts'
import { describeError, serverOf } from '../src/observe/describe-error.ts'
import type { Actor, Running } from './actor.ts'
import { approvalExpiry } from './approval-expiry.ts'
import { type WorkerDeps, WorkerSettingsMissing } from './deps.ts'
import { eventFanout } from './event-fanout.ts'
import { execution } from './execution.ts'
import { logout } from './logout.ts'
import { email, notices } from './mail-actors.ts'
import { canServe } from './open-service.ts'
import { otpExpiry } from './otp-expiry.ts'
import { outageLog } from './outage-log.ts'
import { outboxRelay } from './outbox-relay.ts'
import { retention } from './retention.ts'
import { tenantPurge } from './tenant-purge.ts'
import { connectionCheck, domainCheck, invitationExpiry } from './timed-actors.ts'
import { webhook } from './webhook.ts'
import { webhookOnce } from './webhook-once.ts'

/** Every actor. */
export const actors: readonly Actor[] = [
  outboxRelay,
  email,
  notices,
  eventFanout,
  webhook,
  webhookOnce,
  logout,
  execution,
  invitationExpiry,
  connectionCheck,
  domainCheck,
  tenantPurge,
  otpExpiry,
  approvalExpiry,
  retention,
]

/** Throws {@link Misuse} for a name that no actor has. */
export function assertAreActors(names: readonly string[]): void {
  const known = actors.map(({ name }) => name)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown === undefined) return
  const why = `Unknown actor ${unknown}. The actors are: ${known.join(', ')}`
  throw new Misuse(sentence(`${why}${didYouMean(unknown, known)}`))
}

const drainLimit = 20_000

/**
 * Starts the named actors, or all. `stop` resolves when the work in progress is done, after 20 s at most: another process
 * handles unfinished work again. `areRunning`: whether all actors still take work. Rejects when Postgres is unavailable.
 */
export async function startActors(
  deps: WorkerDeps,
  names: string[] = [],
): Promise<{ stop(): Promise<void>; areRunning(): boolean }> {
  assertAreActors(names)
  const chosen = chooseActors(deps, names)
  const outage = outageLog(deps.log, deps.config.REDIS_URL ? 'Redis' : 'Postgres')
  const backend = openQueueBackend({
    databaseUrl: deps.config.DATABASE_WORKER_URL!,
    redisUrl: deps.config.REDIS_URL,
    onError: outage.failed,
    onReady: outage.recovered,
  })
  const running: Running[] = []
  const stop = async () => {
    await Promise.all(running.map((part) => within(drainLimit, part.stop(), () => part.stop(true))))
    await within(1_000, backend.close(), async () => undefined)
  }
  try {
    for (const actor of chosen) running.push(await actor.start(deps, backend))
  } catch (error) {
    await stop()
    throw error
  }
  if (chosen.includes(notices)) warnUnlessMailAnswers(deps)
  deps.metrics.source('outbox', () => measureBacklog(deps.db, deps.clock()))
  deps.metrics.source('webhooks', () => measureCircuits(deps.db))
  deps.metrics.source('queues', () => backend.measure(Object.keys(queues)))
  deps.log.info({ actors: chosen.map((actor) => actor.name) }, 'actors started')
  return {
    stop,
    areRunning: () => running.every((part) => part.isRunning?.() ?? true),
  }
}

/** The actors that need what the API needs: they carry out its calls, sign with its keys, or read what it reads. */
const serving: readonly Actor[] = [logout, execution, connectionCheck, domainCheck]

/** What an actor lacks in this process, or null. In development an API picks its port, so no other process knows its issuer. */
function lackOf(actor: Actor, { config, isBesideApi }: WorkerDeps): string | null {
  if (serving.includes(actor) && !canServe(config)) return 'DATABASE_API_URL and DATABASE_SYSTEM_URL'
  return actor === logout && !isBesideApi && !config.PUBLIC_URL
    ? 'PUBLIC_URL, the issuer in its tokens'
    : null
}

/**
 * The named actors, or all. `email` starts `notices` too: mail once had that one actor, and deployments name it. A process leaves
 * out the actors that lack something. Rejects when it is to run one of these.
 */
function chooseActors(deps: WorkerDeps, names: string[]): Actor[] {
  const wanted = names.includes(email.name) ? [...names, notices.name] : names
  return actors.filter((actor) => {
    if (names.length > 0 && !wanted.includes(actor.name)) return false
    const lack = lackOf(actor, deps)
    if (!lack) return true
    const need = `The actor ${actor.name} needs ${lack}`
    if (names.includes(actor.name)) throw new WorkerSettingsMissing(`${need}.`)
    deps.log.warn(`${need}; this process leaves it out`)
    return false
  })
}

/** The start does not wait for the mail server: only mail needs it. */
function warnUnlessMailAnswers({ mail, log }: WorkerDeps): void {
  const warn = (error: unknown) => {
    const facts = { error: describeError(error), server: serverOf(error) }
    log.warn(facts, 'The mail server cannot be reached; trying again')
  }
  mail.verify().catch(warn)
}

/** Waits at most `limit` ms for `work`, then calls `otherwise` without waiting for it. */
async function within(limit: number, work: Promise<void>, otherwise: () => Promise<void>): Promise<void> {
  const settled = work.then(
    () => true,
    () => true,
  )
  if (!(await withTimeLimit(limit, settled, () => false))) otherwise().catch(() => undefined)
}
