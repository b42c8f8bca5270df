import type { Deps } from '../../deps.ts'
import { asSystem, inTenant, type Tx } from '../../platform/db/transaction.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { makeLink } from '../../platform/links/one-time-link.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { createPersonalTenant } from '../../tenancy/tenants/create-tenant.ts'
import { findFirstTenantOf } from '../../tenancy/tenants/store.ts'
import { mailUses } from '../rate-limits/limits.ts'
import { padDuration } from '../rate-limits/pad-duration.ts'
import { findCredentials } from '../users/store.ts'
import type { Person } from './check-password.ts'

/** What is answered to everybody. */
export const resetSent = 'If this address has an account, a link to reset its password was sent'

// Far more than the work takes: neither an account nor its absence shows in the time.
const answerMs = 200

/** Mails a link to choose another password, if the address has an active account; the same answer and time if not. */
export async function requestPasswordReset(
  deps: Deps,
  requestInfo: RequestInfo,
  email: string,
): Promise<{ message: typeof resetSent }> {
  await deps.limiters.take(mailUses('reset', email))
  await padDuration(answerMs, () => mailResetLink(deps, requestInfo, email))
  return { message: resetSent }
}

async function mailResetLink(deps: Deps, requestInfo: RequestInfo, email: string): Promise<void> {
  const { person, tenantId } = await asSystem(deps.db, 'nobody is logged in', async (tx) => {
    const found = await findCredentials(tx, email)
    const person = found?.is_active
      ? { id: found.id, email, firstName: found.first_name, lastName: found.last_name }
      : null
    return { person, tenantId: person && (await findFirstTenantOf(tx, person.id)) }
  })
  if (!person) return
  const place = tenantId ?? (await foundPlace(deps, person, requestInfo))
  await asSystem(deps.db, 'nobody is logged in', (tx) => sendLink(deps, tx, person, place, requestInfo))
}

/** Mails and tokens belong to a tenant: whoever was removed from every one gets their own, as at a login. */
async function foundPlace(deps: Deps, person: Person, requestInfo: RequestInfo): Promise<string> {
  const at = deps.clock()
  const id = timeOrderedId(at)
  await inTenant(deps.db, { tenantId: id, userId: person.id }, (tx) =>
    createPersonalTenant(tx, { id, founder: person, requestInfo, at }),
  )
  return id
}

async function sendLink(
  deps: Deps,
  tx: Tx,
  person: Person,
  tenantId: string,
  requestInfo: RequestInfo,
): Promise<void> {
  const at = deps.clock()
  const { id: userId, email, firstName } = person
  const lifeMs = deps.config.PASSWORD_RESET_VALIDITY_SECONDS * 1000
  const link = await makeLink(tx, deps, { purpose: 'password_reset', userId, tenantId, email, at, lifeMs })
  const mail = { tenantId, to: email, template: 'password_reset', variables: { firstName, link } } as const
  await sendMail(tx, deps.sealer, { ...mail, requestId: requestInfo.requestId, at })
}
