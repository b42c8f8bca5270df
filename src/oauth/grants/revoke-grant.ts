import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { notFound } from '../../errors.ts'
import { appendAudit, doneBy } from '../../messages/audit/append-audit.ts'
import { causedBy } from '../../messages/outbox/caused-by.ts'
import type { Caller } from '../../request/caller.ts'
import { forgetConsent } from '../consents.ts'
import { endGrant } from './end-grant.ts'
import { findGrant, type Whose } from './store.ts'

/**
 * Ends a grant with its codes and tokens, its session if it has one of its own, and the consent that the person gave to the
 * application. 404 if it is over, unknown or of others. It is recorded in the tenant of the application.
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
