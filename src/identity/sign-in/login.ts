import { writeAsSystem } from '../../database/executor/batch.ts'
import { readAsSystem } from '../../database/executor/read.ts'
import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, unauthorized } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { addressKey } from '../rate-limits/address-key.ts'
import { accountKey, loginUses, signInUses, type Use } from '../rate-limits/limits.ts'
import { padDuration } from '../rate-limits/pad-duration.ts'
import {
  type Attempt,
  accountLockEnds,
  type clearPair,
  countForAccount,
  countForPair,
  pairLockEnds,
  uncountAttempt,
  uncountForAccount,
  uncountForPair,
} from '../rate-limits/store.ts'
import { type Credentials, findCredentials, replacePassword } from '../users/store.ts'
import type { Person } from './create-own-tenant.ts'
import { type FactorDue, notShown, type Opened, orThrow, type SignInOutcome } from './outcome.ts'
import { recordLoginFailed } from './record-login-failed.ts'
import { signIn } from './sign-in.ts'

interface LoginBody {
  email: string
  password: string
  tenant_id?: string | undefined
}

/** A failure is recorded in a multiple of this time (ms), so that it does not show whether the address has an account. */
const refusalMs = 50

/** 401, the same for an unknown address, a wrong password and an inactive person. */
export const invalidCredentials = () =>
  unauthorized('invalid_credentials', 'No active account has this address and password.')

/**
 * Logs a person in to the tenant they name, else to the one they entered last; or asks for a second factor first.
 * 401 `invalid_credentials`, in the same form and time for an unknown address, a wrong password and an inactive
 * person; 403 for a tenant that they cannot enter, only after the right password; 429 `account_locked` or `throttled`
 * after too many failures, or too many sign-ins. A wrong password leaves the event `identity.login_failed`, an unknown address a log line.
 */
export async function login(
  deps: Deps,
  requestInfo: RequestInfo,
  body: LoginBody,
): Promise<Opened | FactorDue> {
  const attempt = passwordAttempt(deps, requestInfo, body.email)
  const outcome = await inTurn(deps, attempt, async () => {
    const found = await countAttempt(deps, attempt)
    const outcome = await orTakenBack(
      deps,
      attempt,
      compareAndSignIn(deps, requestInfo, body, attempt, found),
    )
    // The sign-in has taken the count back, in its transaction.
    if (outcome.kind !== 'not_shown') await deps.limiters.giveBack(attempt.uses)
    return outcome
  })
  if (outcome.kind !== 'not_shown') return orThrow(outcome)
  await padDuration(refusalMs, () => recordFailure(deps, requestInfo, body.email))
  throw invalidCredentials()
}

async function compareAndSignIn(
  deps: Deps,
  requestInfo: RequestInfo,
  { email, password, tenant_id: tenantId }: LoginBody,
  attempt: Attempt,
  found: Credentials | null,
): Promise<SignInOutcome> {
  // Before the password is compared, which is costly; and for any address, so that no answer tells which are known.
  const uses = signInUses(email)
  await deps.limiters.take(uses)
  const shown = await comparePassword(deps, found, password).catch(async (error: unknown) => {
    await deps.limiters.giveBack(uses)
    throw error
  })
  if (!shown) {
    await deps.limiters.giveBack(uses)
    return notShown
  }
  const { person, passwordHash } = shown
  const factor = { kind: 'password', passwordHash, attempt } as const
  return signIn(deps, { person, factor, tenantId: tenantId ?? null, requestInfo })
}

/**
 * Whether an account opens only when its address is proven. Where registration hides which addresses are used, the password
 * of a new account would tell that the address was free.
 */
const awaitsProof = ({ config }: Deps, { email_verified, has_signed_in }: Credentials) =>
  config.REGISTRATION_HIDE_EXISTING && !email_verified && !has_signed_in

/**
 * Compares a password with the credentials of an address. Null, after the same time, for an unknown address, a wrong
 * password, an inactive person, and an account that waits for its first proof. Replaces a hash that has outdated parameters. `passwordHash` is the hash that the
 * password has now: it must still be the person's at the sign-in.
 */
async function comparePassword(
  deps: Deps,
  found: Credentials | null,
  password: string,
): Promise<{ person: Person; passwordHash: string } | null> {
  const { db, passwords } = deps
  const right = await passwords.verify(found?.password_hash, password)
  if (!found || !right || !found.is_active || awaitsProof(deps, found)) return null
  const { id, email, first_name: firstName, last_name: lastName, password_hash: from } = found
  const person = { id, email, firstName, lastName }
  if (!passwords.isStale(from)) return { person, passwordHash: from }
  const to = await passwords.hash(password)
  const replaced = await asSystem(db, 'no person is logged in yet', (tx) =>
    replacePassword(tx, { id, from, to, setAt: null }),
  )
  if (replaced) return { person, passwordHash: to }
  // A parallel login already rehashed it, or the password was changed.
  const now = await readAsSystem(db, 'no person is logged in yet', (read) => findCredentials(read, email))
  return comparePassword(deps, now, password)
}

async function recordFailure(deps: Deps, requestInfo: RequestInfo, email: string): Promise<void> {
  const { requestId, ip } = requestInfo
  const at = deps.clock()
  const known = await asSystem(deps.db, 'no person is logged in yet', async (tx) => {
    const person = await findCredentials(tx, email)
    return person !== null && recordLoginFailed(tx, { userId: person.id, requestId, at })
  })
  if (!known) deps.log.info({ request_id: requestId, ip }, 'login failed: unknown address')
}

// Each attempt is counted as a failure before its password is compared, in a transaction of its own. So neither
// parallel attempts nor a later rollback get more than the limits (10 in a row, 100 a day). A right password takes its
// count back; so does one that could not be compared, because the database or the time ran out. Few attempts for one
// account and address run at the same time, so that many parallel right passwords do not look like guesses.

/** An attempt at the password of an address (any text, with or without an account), and what it uses of the limits. */
export interface PasswordAttempt extends Attempt {
  uses: Use[]
}

export const passwordAttempt = (deps: Deps, { ip }: RequestInfo, email: string): PasswordAttempt => ({
  account: accountKey(email),
  email,
  address: addressKey(ip),
  at: deps.clock(),
  uses: loginUses(email, ip),
})

/** Runs the work of an attempt, which will compare a password, when it is its turn. */
export const inTurn = <T>(
  deps: Deps,
  { account, address }: PasswordAttempt,
  work: () => Promise<T>,
): Promise<T> =>
  deps.semaphores.perSignIn(`${account.toString('hex')}:${address}`, () => deps.passwords.expecting(work))

/**
 * Counts the attempt and returns its account, null if there is none, in one round trip. After too many failures throws
 * 429 `account_locked` or `throttled`, and counts nothing: what one limit counted before the other one refused is taken back.
 */
export async function countAttempt(deps: Deps, attempt: PasswordAttempt): Promise<Credentials | null> {
  await deps.limiters.take(attempt.uses)
  const [pair, account, found] = await writeAsSystem(deps.db, 'no person is logged in yet', (together) =>
    Promise.all([
      countForPair(together, attempt),
      countForAccount(together, attempt),
      findCredentials(together, attempt.email),
    ]),
  )
  if (pair && account) return found
  const ends = await asSystem(deps.db, 'no person is logged in yet', (tx) => {
    if (pair) uncountForPair(tx, attempt)
    if (account) uncountForAccount(tx, attempt)
    return pair ? accountLockEnds(tx, attempt) : pairLockEnds(tx, attempt)
  })
  deps.metrics.limitRefused('account-lock')
  await deps.limiters.giveBack(attempt.uses)
  throw accountLocked(ends, attempt)
}

/** The result of the work that compares the password; if that fails, the attempt counts for nothing. */
export function orTakenBack<T>(deps: Deps, attempt: PasswordAttempt, work: Promise<T>): Promise<T> {
  return work.catch(async (error: unknown) => {
    await takeBack(deps, attempt, uncountAttempt)
    throw error
  })
}

/** Takes an attempt back: `clearPair` for a right password, `uncountAttempt` for one that was not compared. */
export async function takeBack(
  deps: Deps,
  attempt: PasswordAttempt,
  uncount: typeof clearPair,
): Promise<void> {
  await asSystem(deps.db, 'failures are counted by account and address', async (tx) => uncount(tx, attempt))
  await deps.limiters.giveBack(attempt.uses)
}

/** 429 with Retry-After; the same if the account does not exist. */
function accountLocked(ends: number | null, { at }: Attempt): ApiError {
  const wait = Math.max(1, Math.ceil(((ends ?? at) - at) / 1000))
  return new ApiError(
    429,
    'account_locked',
    `Too many failed attempts. Try again in ${wait} s, or reset the password.`,
    { headers: { 'Retry-After': String(wait) } },
  )
}
