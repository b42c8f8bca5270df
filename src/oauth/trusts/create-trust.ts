import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, invalidField } from '../../errors.ts'
import { whyNotCalled } from '../../federation/call-upstream.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { assertHolds, holderOf } from '../../tenancy/roles/grantable-roles.ts'
import { holdAccount } from '../clients/assert-may-act-as.ts'
import { clientIdOf } from '../clients/client-id.ts'
import { permissionsAmong } from '../clients/client-schemas.ts'
import { countTrusts, insertTrust, type TrustRow } from './store.ts'
import { auditedTrust, type NewTrust } from './trust-schemas.ts'

const maxTrusts = 20

/**
 * Lets workloads of another issuer act as a service account, which asks what a key of it asks. 400 for an issuer that cannot be called
 * and an audience that is not this service, 403 for more than the caller has, 409 `limit_reached`.
 */
export async function createTrust(
  tx: Tx,
  deps: Deps,
  caller: Caller,
  accountId: string,
  { issuer, audience = deps.publicUrl(), claims, jwks, scopes, expires_at: endsAt }: NewTrust,
): Promise<TrustRow> {
  const { tenantId, userId } = caller
  const at = deps.clock()
  const isOwn = (url: string) => `${url}/`.startsWith(`${deps.publicUrl()}/`)
  if (isOwn(issuer)) throw invalidField('issuer', 'This is the service itself: its tokens are no assertions.')
  const unreachable = jwks === null && whyNotCalled(issuer, deps.config)
  if (unreachable) throw invalidField('issuer', unreachable)
  if (!isOwn(audience))
    throw invalidField(
      'audience',
      `Give ${deps.publicUrl()}, or a URL below it: a JWT for others is not for this service.`,
    )
  if (endsAt !== null && endsAt <= at) throw invalidField('expires_at', 'Give a time to come.')
  assertHolds(holderOf(caller), permissionsAmong(scopes))
  // It locks the tenant.
  await holdAccount(tx, caller, accountId)
  if ((await countTrusts(tx, { tenantId, accountId })) >= maxTrusts)
    throw new ApiError(409, 'limit_reached', `A service account can have at most ${maxTrusts} trusts.`)
  const row = {
    tenant_id: tenantId,
    id: timeOrderedId(at),
    service_account_id: accountId,
    scopes,
    trust: { issuer, audience, claims, jwks },
    trust_ends_at: endsAt,
    created_by: userId,
    created_at: at,
  }
  insertTrust(tx, { ...row, name: new URL(issuer).host.slice(0, 120) })
  await recordChange(tx, caller, at, {
    event: 'application.client_created',
    data: { client_id: clientIdOf({ tenantId, id: row.id }) },
    action: 'oauth_client:create',
    target: { type: 'oauth_client', id: row.id },
    changes: changesBetween(null, auditedTrust(row)),
  })
  return { ...row, last_used_at: null }
}
