import { asSystem, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { notFound } from '../../errors.ts'
import { appendAudit, doneBy } from '../../messages/audit/append-audit.ts'
import { causedBy } from '../../messages/outbox/caused-by.ts'
import type { Caller } from '../../request/caller.ts'
import { assertCanChange } from '../../tenancy/members/keep-owners.ts'
import { findMemberId } from '../../tenancy/members/person-store.ts'
import { listRolesOf } from '../../tenancy/roles/store.ts'
import { forgetConsent } from '../consents.ts'
import { endGrant } from './end-grant.ts'
import { findGrant, type Whose } from './store.ts'

/**
 * Ends a grant with its codes and tokens, its session if it has one of its own, and the consent that the person gave to the
 * application. 404 if it is over, unknown or of others, 403 for that of a member above the caller. It is recorded in the tenant
 * of the application.
 */
export async function revokeGrant(
  { db, clock }: Deps,
  caller: Caller,
  whose: Whose,
  id: string,
): Promise<undefined> {
  const at = clock()
  await asSystem(db, 'a grant is of a person, in the tenant of an application', async (tx) => {
    const grant = await findGrant(tx, whose, id, at)
    if (grant && 'tenantId' in whose) await assertBelow(tx, caller, grant.user_id)
    const type = 'application.grant_revoked'
    const gone = grant && (await endGrant(tx, { ...causedBy(caller, at), grantId: grant.grant_id, type }))
    if (!gone) throw notFound()
    forgetConsent(tx, gone.client, gone.userId)
    await appendAudit(tx, {
      ...doneBy({ ...caller, tenantId: gone.client.tenantId }, at),
      action: 'userId' in whose ? 'oauth_grant:revoke_own' : 'oauth_grant:revoke',
      target: { type: 'oauth_grant', id },
    })
  })
}

/** As for the sessions of a member. Who has left is above no one. */
async function assertBelow(tx: Tx, caller: Caller, userId: string): Promise<void> {
  const { tenantId } = caller
  const id = await findMemberId(tx, tenantId, userId)
  if (id) assertCanChange(caller, { id, user_id: userId, granted: await listRolesOf(tx, tenantId, id) })
}
