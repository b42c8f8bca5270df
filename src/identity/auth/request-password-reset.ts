import type { Deps } from '../../deps.ts'
import { asSystem, type Tx } from '../../platform/db/transaction.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { makeLink } from '../../platform/links/one-time-link.ts'
import { greeted } from '../../platform/mail/free-text.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import { findFirstTenantOf } from '../../tenancy/tenants/store.ts'
import { anonymousMailUses } from '../rate-limits/limits.ts'
import { padDuration } from '../rate-limits/pad-duration.ts'
import { findCredentials } from '../users/store.ts'
import { createOwnTenantOnceADay, type Person } from './create-own-tenant.ts'

/** The answer, the same for every address. */
export const resetSent = 'If this address has an account, a link to reset its password was sent'

// Much longer than the work takes, so that the time does not show whether there is an account.
const answerMs = 200

/** Mails a link to choose a new password, if the address has an active account; if not, the same answer and time. */
export async function requestPasswordReset(
  deps: Deps,
  requestInfo: RequestInfo,
  email: string,
): Promise<{ message: typeof resetSent }> {
  await deps.limiters.take(anonymousMailUses('reset', email, requestInfo.ip))
  await padDuration(answerMs, () => mailResetLink(deps, requestInfo, email))
  return { message: resetSent }
}

async function mailResetLink(deps: Deps, requestInfo: RequestInfo, email: string): Promise<void> {
  const { person, tenantId } = await asSystem(deps.db, 'no person is logged in yet', async (tx) => {
    const found = await findCredentials(tx, email)
    const person = found?.is_active
      ? {
          id: found.id,
          email,
          firstName: found.first_name,
          lastName: found.last_name,
          emailVerified: found.email_verified,
        }
      : null
    return { person, tenantId: person && (await findFirstTenantOf(tx, person.id)) }
  })
  if (!person) return
  // Mails and tokens belong to a tenant. A person who deleted the one of the last 24 hours gets no mail.
  const home = tenantId ?? (await createOwnTenantOnceADay(deps, person, requestInfo))
  if (home === null) return
  await asSystem(deps.db, 'no person is logged in yet', (tx) => sendLink(deps, tx, person, home, requestInfo))
}

async function sendLink(
  deps: Deps,
  tx: Tx,
  person: Person & { emailVerified: boolean },
  tenantId: string,
  requestInfo: RequestInfo,
): Promise<void> {
  const at = deps.clock()
  const { id: userId, email } = person
  const lifeMs = deps.config.PASSWORD_RESET_VALIDITY_SECONDS * 1000
  const link = await makeLink(tx, deps, { purpose: 'password_reset', userId, tenantId, email, at, lifeMs })
  const variables = { firstName: greeted(person), link }
  const mail = { tenantId, to: email, template: 'password_reset', variables } as const
  await sendMail(tx, deps.sealer, { ...mail, requestId: requestInfo.requestId, at })
}
