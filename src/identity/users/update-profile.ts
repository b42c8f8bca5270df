import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import { countLog } from '../../database/log-quota.ts'
import type { Versions } from '../../database/version.ts'
import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween, doneBy } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { preconditionFailed } from '../../request/answer/etag.ts'
import type { Caller } from '../../request/caller.ts'
import { assertDomainsKept } from '../../tenancy/tenants/email-domains.ts'
import { checkCurrentPassword } from '../auth/check-password.ts'
import { hiddenMs, mailAddressOwner } from '../auth/mail-address-owner.ts'
import { mailUses } from '../rate-limits/limits.ts'
import { padDuration } from '../rate-limits/pad-duration.ts'
import { assertFreshSecondFactor, assertRecentSignIn } from '../sessions/fresh-authentication.ts'
import { assertNotEnded } from '../sessions/store.ts'
import { finishAddressChange } from './finish-address-change.ts'
import { isEmailTaken, isUserAmong, lockUser, updatePerson } from './store.ts'

interface ProfileChange {
  first_name?: string | undefined
  last_name?: string | undefined
  email?: string | undefined
  locale?: string | null | undefined
  zoneinfo?: string | null | undefined
  current_password?: string | undefined
}

/**
 * Changes the caller's names, language, time zone and address, with one event; does nothing if they are the same. A new address takes effect
 * at once and is unverified; see {@link finishAddressChange}. 401 if the sign-in is too old for a new address or was ended, 400 on
 * `email` if another account has the address or a membership demands other domains, 412 if the row has none of
 * `versions`. If REGISTRATION_HIDE_EXISTING is set, an address of another account stays theirs and its owner gets a
 * mail; then `shownEmail` is that address, to answer as if it had changed.
 */
export async function updateProfile(
  deps: Deps,
  caller: Caller,
  change: ProfileChange,
  versions: Versions,
): Promise<{ shownEmail: string | null }> {
  const { auth, requestInfo } = caller
  const email = change.email === auth.user.email ? null : (change.email ?? null)
  if (email !== null) await assertCanChangeAddress(deps, caller, email, change.current_password)
  if (email === null || !deps.config.REGISTRATION_HIDE_EXISTING) {
    await writeProfile(deps, caller, change, email, versions)
    return { shownEmail: null }
  }
  return padDuration(hiddenMs, async () => {
    try {
      await writeProfile(deps, caller, change, email, versions)
      return { shownEmail: null }
    } catch (error) {
      if (!isEmailTaken(error)) throw error
    }
    await writeProfile(deps, caller, change, null, versions)
    await mailAddressOwner(deps, email, requestInfo)
    return { shownEmail: email }
  })
}

/** `email` is the new address, null to keep the current one. */
async function writeProfile(
  deps: Deps,
  caller: Caller,
  change: ProfileChange,
  email: string | null,
  versions: Versions,
): Promise<void> {
  const { userId: id, auth } = caller
  const { first_name: firstName = null, last_name: lastName = null, locale, zoneinfo } = change
  const preferences = { locale, zoneinfo }
  const at = deps.clock()
  await asSystem(deps.db, 'a profile appears in every tenant of its person', async (tx) => {
    countLog(tx, deps.config, { caller: { ...caller, tenantId: caller.tokenTenantId }, at, use: 'adds' })
    if (email !== null) {
      await lockUser(tx, id)
      await assertNotEnded(tx, caller) // a reset could have given the account to the owner of its address
      await assertDomainsKept(tx, { userId: id, before: auth.user.email, after: email })
    }
    const updated = await updatePerson(tx, { id, email, firstName, lastName, preferences, at }, versions)
    if (!updated && !(await isUserAmong(tx, id, versions))) throw preconditionFailed()
    if (!updated) return
    const { email: now, first_name, last_name, previous_email: before } = updated
    if (now !== before) await finishAddressChange(deps, tx, caller, updated, at)
    await recordUpdated(tx, caller, at)
    await appendAudit(tx, {
      ...doneBy(caller, at),
      tenantId: caller.tokenTenantId,
      action: 'profile:update',
      target: { type: 'user', id },
      changes: changesBetween(
        {
          first_name: auth.user.firstName,
          last_name: auth.user.lastName,
          email: before,
          locale: updated.previous_locale,
          zoneinfo: updated.previous_zoneinfo,
        },
        { first_name, last_name, email: now, locale: updated.locale, zoneinfo: updated.zoneinfo },
      ),
    })
  })
}

/** A stolen session alone must not be enough to take the account over. */
async function assertCanChangeAddress(
  deps: Deps,
  caller: Caller,
  email: string,
  password: string | undefined,
) {
  const now = deps.clock()
  assertFreshSecondFactor(caller, now)
  if (password === undefined) assertRecentSignIn(caller, now)
  else await checkCurrentPassword(deps, caller, password)
  await deps.limiters.take(mailUses('address-change', email))
  await deps.limiters.stranger(caller, email)
}

function recordUpdated(tx: Tx, { userId, tokenTenantId, requestInfo }: Caller, at: number): Promise<string> {
  return appendEvent(tx, {
    type: 'identity.user_updated',
    tenantId: tokenTenantId,
    subject: userId,
    data: { user_id: userId },
    actorId: userId,
    requestId: requestInfo.requestId,
    at,
  })
}
