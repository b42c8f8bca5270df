import type { Deps } from '../../deps.ts'
import { invalidField } from '../../errors.ts'
import type { Caller } from '../../request/caller.ts'
import { clearPair } from '../rate-limits/store.ts'
import { countAttempt, inTurn, orTakenBack, passwordAttempt, takeBack } from '../sign-in/login.ts'

/**
 * Compares the caller's own password, which they repeat before a sensitive change; returns its hash. 400 on
 * `current_password` for a wrong password, which counts like a failed login: a stolen session must not allow guessing.
 */
export async function checkCurrentPassword(deps: Deps, caller: Caller, password: string): Promise<string> {
  const { auth, requestInfo, userId } = caller
  const attempt = passwordAttempt(deps, requestInfo, auth.user.email)
  return inTurn(deps, attempt, async () => {
    const found = await countAttempt(deps, attempt)
    const own = found?.id === userId ? found.password_hash : null
    const right = own !== null && (await orTakenBack(deps, attempt, deps.passwords.verify(own, password)))
    if (!right) throw wrongCurrentPassword()
    await takeBack(deps, attempt, clearPair)
    return own
  })
}

/** 400 on `current_password`: it is not the current password. */
export const wrongCurrentPassword = () =>
  invalidField('current_password', 'This is not your current password.', 'wrong_password')
