import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { greeted } from '../../messages/mail/free-text.ts'
import { findFirstTenantOf } from '../../tenancy/tenants/store.ts'
import { anonymousMailUses } from '../rate-limits/limits.ts'
import { padDuration } from '../rate-limits/pad-duration.ts'
import { createOwnTenantOnceADay, type Person } from '../sign-in/create-own-tenant.ts'
import { withoutPlace } from '../users/prove-by-mailbox.ts'
import { findCredentials, findOwnTenant } from '../users/store.ts'

// Much longer than the work takes, so that the time does not show whether there is an account.
const answerMs = 200

const beforeLogin = 'no person is logged in yet'

/** The person to whom a link that opens their account is mailed. */
export interface Recipient {
  userId: string
  email: string
  /** The name by which the mail greets them. */
  firstName: string
  /** The tenant to which mail and link belong. */
  tenantId: string
}

/**
 * Has `send` mail a link to the active account of an address, in a transaction as the system role; gives what it returns. If
 * there is no such account, null in the same time. 429 `throttled`.
 */
export async function mailAccountLink<Made>(
  deps: Deps,
  requestInfo: RequestInfo,
  { email, purpose }: { email: string; purpose: 'reset' | 'magic-link' },
  send: (tx: Tx, recipient: Recipient) => Promise<Made>,
): Promise<Made | null> {
  await deps.limiters.take(anonymousMailUses(purpose, email, requestInfo.ip))
  return padDuration(answerMs, async () => {
    const recipient = await findRecipient(deps, requestInfo, email)
    return recipient && asSystem(deps.db, beforeLogin, (tx) => send(tx, recipient))
  })
}

/** To whom a link to the active account of an address is mailed; null if there is no such account. */
export async function findRecipient(
  deps: Deps,
  requestInfo: RequestInfo,
  email: string,
): Promise<Recipient | null> {
  const { found, first } = await asSystem(deps.db, beforeLogin, async (tx) => {
    const found = await findCredentials(tx, email)
    return { found, first: found?.is_active ? await findFirstTenantOf(tx, found.id) : null }
  })
  if (!found?.is_active) return null
  const { id: userId, first_name, last_name: lastName, email_verified: emailVerified } = found
  const person = { id: userId, email, firstName: first_name, lastName }
  const tenantId = first ?? (await homeWithoutTenant(deps, person, requestInfo))
  if (tenantId === null) return null
  return { userId, email, firstName: greeted({ ...person, emailVerified }), tenantId }
}

/**
 * A tenant for the mail to a person who belongs to none: a new one of their own, else the one made in the last 24 hours. That
 * one exists, because a deleted tenant stays for 30 days. So a thief cannot stop the mail by deleting tenants.
 */
const homeWithoutTenant = async (
  deps: Deps,
  person: Person,
  requestInfo: RequestInfo,
): Promise<string | null> =>
  (await createOwnTenantOnceADay(deps, person, requestInfo)) ??
  asSystem(deps.db, beforeLogin, (tx) => findOwnTenant(tx, person.id))

/**
 * Where the log of a used link is written: the reader's first tenant. Without one it is the tenant of the link, which can be
 * a stranger's by now and does not see from where the reader came. As the system role.
 */
export async function logOfReader(
  tx: Tx,
  link: { userId: string; tenantId: string },
  requestInfo: RequestInfo,
): Promise<{ tenantId: string; requestInfo: RequestInfo }> {
  const tenantId = await findFirstTenantOf(tx, link.userId)
  return tenantId === null
    ? { tenantId: link.tenantId, requestInfo: withoutPlace(requestInfo) }
    : { tenantId, requestInfo }
}
