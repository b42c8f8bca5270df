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

// An attempt is counted as failed before its password is looked at, in a transaction of its own, so that no number
// of parallel attempts, and no rollback of what follows, gets more than the ten and the hundred that there are. A
// right password takes its count back; so does one that could not be compared, for want of a database or of time.
// Few of one account and address are under way at a time, so that many right ones at once are not taken for guesses.

/**
 * Runs `check`, which compares the password of `email` (any text, with an account or not), unless there were too many
 * failures: 429 `account_locked` or `throttled`, and then nothing is checked or counted. `wrong` is the code of
 * the error that tells a wrong password.
 */
export async function guardPassword<T>(
  deps: Deps,
  { email, requestInfo }: { email: string; requestInfo: RequestInfo },
  wrong: string,
  check: () => Promise<T>,
): Promise<T> {
  const attempt = { account: accountKey(email), email, address: addressKey(requestInfo.ip), at: deps.clock() }
  const pair = `${attempt.account.toString('hex')}:${attempt.address}`
  const uses = loginUses(email, requestInfo.ip)
  return deps.semaphores.perSignIn(pair, () =>
    deps.passwords.expecting(() => guarded(deps, attempt, uses, wrong, check)),
  )
}

async function guarded<T>(
  deps: Deps,
  attempt: Attempt,
  uses: Use[],
  wrong: string,
  check: () => Promise<T>,
): Promise<T> {
  await deps.limiters.take(uses)
  const refusal = await countAttempt(deps, attempt)
  if (refusal) {
    deps.metrics.limitRefused('account-lock')
    await deps.limiters.giveBack(uses)
    throw refusal
  }
  try {
    const value = await check()
    await settle(deps, attempt, clearPair)
    await deps.limiters.giveBack(uses)
    return value
  } catch (error) {
    if (error instanceof ApiError && error.code === wrong) throw error
    const right = error instanceof ApiError && error.status < 500
    await settle(deps, attempt, right ? clearPair : uncountAttempt)
    await deps.limiters.giveBack(uses)
    throw error
  }
}

/** Gives the refusal where there is one; rolled back then, so that a refused attempt counts for neither. */
function countAttempt(deps: Deps, attempt: Attempt): Promise<ApiError | undefined> {
  return asSystem(deps.db, 'nobody is logged in yet', async (tx) => {
    if (!(await countForPair(tx, attempt))) throw accountLocked(await pairLockEnds(tx, attempt), attempt)
    if (!(await countForAccount(tx, attempt)))
      throw accountLocked(await accountLockEnds(tx, attempt), attempt)
    return undefined
  }).catch((error: unknown) => {
    if (error instanceof ApiError) return error
    throw error
  })
}

const settle = (deps: Deps, attempt: Attempt, how: typeof clearPair) =>
  asSystem(deps.db, 'failures are counted by account and address', (tx) => how(tx, attempt))

/** 429 with Retry-After; the same for an account that does not exist. */
function accountLocked(ends: number | null, { at }: Attempt): ApiError {
  const wait = Math.max(1, Math.ceil(((ends ?? at) - at) / 1000))
  return new ApiError(
    429,
    'account_locked',
    `Too many failed attempts. Try again in ${wait} s, or reset the password.`,
    { headers: { 'Retry-After': String(wait) } },
  )
}
