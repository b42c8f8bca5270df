import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, invalidField } from '../../errors.ts'
import { assertFreshSession } from '../../identity/sessions/fresh-authentication.ts'
import { reasonSentence } from '../../policy-engine/evaluate/reasons.ts'
import { boundKinds, type Caller } from '../../request/caller.ts'
import { keepAccount } from '../../tenancy/service-accounts/lock-account.ts'
import type { ClientFields } from './store.ts'

/**
 * Asks of the editor of a machine what a key of its service account asks: a secret does what the account may do. Throws as
 * {@link holdAccount}, and 401 without a sign-in or a second factor in the last 10 minutes.
 */
export async function assertMayActAs(
  tx: Tx,
  { clock }: Pick<Deps, 'clock'>,
  caller: Caller,
  { service_account_id: id }: ClientFields,
): Promise<void> {
  if (id === null) return
  assertNoProgram(caller)
  assertFreshSession(caller, clock())
  await holdAccount(tx, caller, id)
}

/**
 * Locks a service account that the caller gets to act as, when they have just signed in. Throws 403 for an account with more than
 * the caller has, and for keys, applications and impersonations; 400 for an account that the tenant does not have. What the account
 * asks for counts as the caller's from then on.
 */
export async function holdAccount(tx: Tx, caller: Caller, id: string): Promise<void> {
  assertNoProgram(caller)
  if (!(await keepAccount(tx, caller, id)))
    throw invalidField('service_account_id', 'This tenant has no such service account.', 'unknown')
}

function assertNoProgram({ token }: Caller): void {
  const code = boundKinds[token]
  if (code) throw new ApiError(403, code, reasonSentence(code))
}
