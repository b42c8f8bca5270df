import type { Deps } from '../../deps.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { ApiError } from '../../platform/errors.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
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
} from './store.ts'

// Each attempt is counted as a failure before its password is compared, in a transaction of its own. So neither
// parallel attempts nor a later rollback get more than the limits (10 in a row, 100 a day). A right password takes its
// count back; so does one that could not be compared, because the database or the time ran out. Few attempts for one
// account and address run at the same time, so that many parallel right passwords do not look like guesses.

/** The value that a check returns for a wrong password. */
export const wrongPassword = Symbol('wrong password')
export type WrongPassword = typeof wrongPassword

/**
 * Runs `check`, which compares the password of `email` (any text, with or without an account) and returns
 * {@link wrongPassword} or a value. After too many failures throws 429 `account_locked` or `throttled`, and neither
 * checks nor counts.
 */
export async function guardPassword<T>(
  deps: Deps,
  { email, requestInfo }: { email: string; requestInfo: RequestInfo },
  check: () => Promise<T | WrongPassword>,
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
  check: () => Promise<T | WrongPassword>,
): Promise<T | WrongPassword> {
  await deps.limiters.take(uses)
  const refusal = await countAttempt(deps, attempt)
  if (refusal) {
    deps.metrics.limitRefused('account-lock')
    await deps.limiters.giveBack(uses)
    throw refusal
  }
  const takeBack = async (uncount: typeof clearPair) => {
    await asSystem(deps.db, 'failures are counted by account and address', (tx) => uncount(tx, attempt))
    await deps.limiters.giveBack(uses)
  }
  const outcome = await check().catch(async (error: unknown) => {
    await takeBack(uncountAttempt)
    throw error
  })
  if (outcome !== wrongPassword) await takeBack(clearPair)
  return outcome
}

/** Returns the refusal, if any. It is thrown inside the transaction, so that a refused attempt counts for neither limit. */
function countAttempt(deps: Deps, attempt: Attempt): Promise<ApiError | undefined> {
  return asSystem(deps.db, 'no person is logged in yet', async (tx) => {
    const [pair, account] = await Promise.all([countForPair(tx, attempt), countForAccount(tx, attempt)])
    if (!pair) throw accountLocked(await pairLockEnds(tx, attempt), attempt)
    if (!account) throw accountLocked(await accountLockEnds(tx, attempt), attempt)
    return undefined
  }).catch((error: unknown) => {
    if (error instanceof ApiError) return error
    throw error
  })
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
