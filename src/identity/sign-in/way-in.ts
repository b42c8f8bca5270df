import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { sessionConfined, sessionRevoked } from '../../errors.ts'
import type { Connection } from '../../request/caller.ts'
import type { Membership } from '../../tenancy/members/store.ts'
import { firstExcess } from '../../tenancy/roles/grantable-roles.ts'
import { listRolesOf } from '../../tenancy/roles/store.ts'
import { type Refused, refused } from './outcome.ts'
import { findWayOf } from './way-store.ts'

declare const answered: unique symbol

/** Proof that a session may enter its tenant by the way in which it began. Full tokens cannot be issued without it. */
export interface WayOpen {
  readonly [answered]: true
}

const open = {} as WayOpen

/** `trustsMfa`: a second factor that the connection saw counts for this member. */
export type Way = { kind: 'open'; proof: WayOpen; trustsMfa: boolean } | Refused

/** What enters a tenant. */
interface Entering {
  /** By which the session began; null: by another way. */
  connection: Connection | null
  membership: Membership
}

/**
 * Whether a session may enter a tenant, or stay in it, by the way in which it began: one by a connection only its tenant, and only
 * with what its activator held. Who controls the provider can sign in as each member, also as one who was promoted since.
 * Refuses with 403 `session_confined`, and with 401 `session_revoked` where the connection is disabled or deleted.
 */
export async function checkWay(
  { publicUrl }: Pick<Deps, 'publicUrl'>,
  tx: Tx,
  { connection, membership }: Entering,
): Promise<Way> {
  if (connection === null) return { kind: 'open', proof: open, trustsMfa: false }
  const { tenant_id: tenantId, membership_id: membershipId, is_owner: isOwner } = membership
  if (connection.tenantId !== tenantId) return refused(sessionConfined(publicUrl()))
  const [found, roles] = await Promise.all([
    findWayOf(tx, connection),
    listRolesOf(tx, tenantId, membershipId),
  ])
  if (!found?.activator || found.is_disabled) return refused(sessionRevoked())
  if (firstExcess(found.activator, roles)) return refused(sessionConfined(publicUrl(), mayDoMore))
  return { kind: 'open', proof: open, trustsMfa: found.trusts_mfa && !isOwner }
}

const mayDoMore =
  'You may do more in this tenant than the person who activated this connection. Sign in in another way.'
