import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { deadLink, findLink, type PresentedLink, spendLink } from '../../messages/links/one-time-link.ts'
import { findPerson } from '../../tenancy/members/person-store.ts'
import { listMembershipsOf } from '../../tenancy/members/store.ts'
import { createFreshTenant } from '../sign-in/create-own-tenant.ts'
import { tenantWords } from './context-words.ts'
import { logOfReader } from './mail-account-link.ts'
import { refuseWeakPassword } from './password-policy.ts'
import { resetPassword } from './reset-password.ts'

/**
 * Sets a new password with a mailed token, once ({@link resetPassword}). It does not log the person in, because a second
 * factor stays due, and a code to the same mailbox is not enough. If the address was not proven yet, the person gets a
 * fresh tenant. 400 `token_expired` for a token that is only too old, else `token_invalid`; 400 on `password` for a weak
 * password, which leaves the token usable.
 */
export async function confirmPasswordReset(
  deps: Deps,
  requestInfo: RequestInfo,
  body: { token: string; password: string },
): Promise<{ message: 'Password changed' }> {
  const presented = { purpose: 'password_reset', token: body.token, at: deps.clock() } as const
  const { link, person, memberships } = await asSystem(
    deps.db,
    'the holder of the link is not logged in',
    async (tx) => {
      const link = await findLink(tx, presented)
      const person = await findPerson(tx, link.userId)
      if (person?.email !== link.email) throw deadLink()
      return { link, person, memberships: await listMembershipsOf(tx, person.id) }
    },
  )
  refuseWeakPassword(deps, 'password', body.password, { ...person, tenants: tenantWords(memberships) })
  const passwordHash = await deps.passwords.hash(body.password)
  const { isFirst } = await asSystem(deps.db, 'the holder of the link is not logged in', (tx) =>
    useLink(deps, tx, link, { ...person, passwordHash }, requestInfo),
  )
  if (isFirst) await createFreshTenant(deps, person, requestInfo, link.at)
  return { message: 'Password changed' }
}

async function useLink(
  deps: Deps,
  tx: Tx,
  link: PresentedLink,
  person: { id: string; email: string; firstName: string; passwordHash: string },
  from: RequestInfo,
): Promise<{ isFirst: boolean }> {
  const { at } = link
  await spendLink(tx, link)
  const { passwordHash, ...named } = person
  const proof = await resetPassword(deps, tx, {
    person: named,
    passwordHash,
    ...(await logOfReader(tx, link, from)),
    at,
  })
  if (!proof) throw deadLink()
  return proof
}
