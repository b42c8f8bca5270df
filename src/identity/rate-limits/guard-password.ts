import { writeAsSystem } from '../../database/executor/batch.ts'
import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { type Credentials, findCredentials } from '../users/store.ts'
import { addressKey } from './address-key.ts'
import { accountKey, loginUses, type Use } from './limits.ts'
import {
  type Attempt,
  accountLockEnds,
  clearPair,
  countForAccount,
  countForPair,
  pairLockEnds,
  uncountAttempt,
  uncountForAccount,
  uncountForPair,
} from './store.ts'

// Each attempt is counted as a failure before its password is compared, in a transaction of its own. So neither
// parallel attempts nor a later rollback get more than the limits (10 in a row, 100 a day). A right password takes its
// count back; so does one that could not be compared, because the database or the time ran out. Few attempts for one
// account and address run at the same time, so that many parallel right passwords do not look like guesses.

/** The value that a check returns for a wrong password. */
export const wrongPassword = Symbol('wrong password')
export type WrongPassword = typeof wrongPassword

/** What a check gets: the account of the address, null if there is none, and a way to take the attempt back. */
export interface PasswordAttempt {
  found: Credentials | null
  /** Takes the attempt back in a transaction of the check, which must commit. Without it that takes a transaction more. */
  clear(tx: Tx): void
}

/**
 * Runs `check`, which compares the password of `email` (any text, with or without an account) and returns
 * {@link wrongPassword} or a value. After too many failures throws 429 `account_locked` or `throttled`, and neither
 * checks nor counts.
 */
export async function guardPassword<T>(
  deps: Deps,
  { email, requestInfo }: { email: string; requestInfo: RequestInfo },
  check: (attempt: PasswordAttempt) => Promise<T | WrongPassword>,
): Promise<T | WrongPassword> {
  const attempt = { account: accountKey(email), email, address: addressKey(requestInfo.ip), at: deps.clock() }
  const pair = `${attempt.account.toString('hex')}:${attempt.address}`
  const uses = loginUses(email, requestInfo.ip)
  return deps.semaphores.perSignIn(pair, () =>
    deps.passwords.expecting(() => guarded(deps, attempt, uses, check)),
  )
}

async function guarded<T>(
  deps: Deps,
  attempt: Attempt,
  uses: Use[],
  check: (attempt: PasswordAttempt) => Promise<T | WrongPassword>,
): Promise<T | WrongPassword> {
  await deps.limiters.take(uses)
  const { found, refusal } = await countAttempt(deps, attempt)
  if (refusal) {
    deps.metrics.limitRefused('account-lock')
    await deps.limiters.giveBack(uses)
    throw refusal
  }
  let cleared = false
  const clear = (tx: Tx) => {
    clearPair(tx, attempt)
    cleared = true
  }
  const takeBack = async (uncount: typeof clearPair) => {
    await asSystem(deps.db, 'failures are counted by account and address', async (tx) => uncount(tx, attempt))
    await deps.limiters.giveBack(uses)
  }
  const outcome = await check({ found, clear }).catch(async (error: unknown) => {
    await takeBack(uncountAttempt)
    throw error
  })
  if (outcome === wrongPassword) return outcome
  if (cleared) await deps.limiters.giveBack(uses)
  else await takeBack(clearPair)
  return outcome
}

/**
 * Counts the attempt and reads its account, in one round trip. An attempt that one of the limits refuses counts for
 * neither: what the other one counted is taken back.
 */
async function countAttempt(
  deps: Deps,
  attempt: Attempt,
): Promise<{ found: Credentials | null; refusal?: ApiError }> {
  const [pair, account, found] = await writeAsSystem(deps.db, 'no person is logged in yet', (together) =>
    Promise.all([
      countForPair(together, attempt),
      countForAccount(together, attempt),
      findCredentials(together, attempt.email),
    ]),
  )
  if (pair && account) return { found }
  const ends = await asSystem(deps.db, 'no person is logged in yet', (tx) => {
    if (pair) uncountForPair(tx, attempt)
    if (account) uncountForAccount(tx, attempt)
    return pair ? accountLockEnds(tx, attempt) : pairLockEnds(tx, attempt)
  })
  return { found, refusal: accountLocked(ends, attempt) }
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
