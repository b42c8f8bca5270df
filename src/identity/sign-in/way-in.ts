import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { sessionConfined, sessionRevoked, ssoRequired } from '../../errors.ts'
import type { Connection } from '../../request/caller.ts'
import type { Membership } from '../../tenancy/members/store.ts'
import { firstExcess } from '../../tenancy/roles/grantable-roles.ts'
import { listRolesOf } from '../../tenancy/roles/store.ts'
import { hasOldFactor } from '../otp/young-factors.ts'
import { type Refused, refused } from './outcome.ts'
import { findWayOf, listActiveConnections } from './way-store.ts'

declare const answered: unique symbol

/** Proof that a session may enter its tenant by the way in which it began. Full tokens cannot be issued without it. */
export interface WayOpen {
  readonly [answered]: true
  /** A second factor that the connection saw counts for this member. */
  trustsMfa: boolean
  /** An owner enters a tenant with `sso: required` without a connection: a second factor that counts is due, and it is recorded. */
  breaksGlass: boolean
}

const open = (more: Partial<WayOpen> = {}) =>
  ({ kind: 'open', proof: { trustsMfa: false, breaksGlass: false, ...more } as WayOpen }) as const

export type Way = ReturnType<typeof open> | Refused

/** What enters a tenant. */
interface Entering {
  userId: string
  /** By which the session began; null: by another way. */
  connection: Connection | null
  membership: Pick<Membership, 'tenant_id' | 'membership_id' | 'is_owner' | 'requires_sso'>
  /** The factors shown so far (RFC 8176). */
  amr: readonly string[]
}

type WayDeps = Pick<Deps, 'publicUrl' | 'config' | 'clock'>

/**
 * Whether a session may enter a tenant, or stay in it, by the way in which it began. One by a connection enters only its tenant, and only
 * with what its activator held: who controls the provider can sign in as each member, also as one who was promoted since. Others enter
 * no tenant with `sso: required`, except an owner by password and a second factor that they have had for a day.
 * Refuses with 403 `session_confined`, with 401 `sso_required`, and with 401 `session_revoked` where the connection is disabled or deleted.
 */
export async function checkWay(
  deps: WayDeps,
  tx: Tx,
  { userId, connection, membership, amr }: Entering,
): Promise<Way> {
  const publicUrl = deps.publicUrl()
  const { tenant_id: tenantId, membership_id: membershipId, is_owner: isOwner } = membership
  if (connection === null) {
    if (!membership.requires_sso) return open()
    const hasPassword = isOwner && amr.includes('pwd')
    if (hasPassword && (await hasOldFactor(deps, tx, userId, deps.clock())))
      return open({ breaksGlass: true })
    const path = pathOf(tenantId, await listActiveConnections(tx, tenantId))
    return refused(ssoRequired(`${publicUrl}/sign-in/${path}`))
  }
  if (connection.tenantId !== tenantId) return refused(sessionConfined(publicUrl))
  const [found, roles] = await Promise.all([
    findWayOf(tx, connection),
    listRolesOf(tx, tenantId, membershipId),
  ])
  if (!found?.activator || found.is_disabled) return refused(sessionRevoked())
  if (firstExcess(found.activator, roles)) return refused(sessionConfined(publicUrl, mayDoMore))
  return open({ trustsMfa: found.trusts_mfa && !isOwner })
}

const mayDoMore =
  'You may do more in this tenant than the person who activated this connection. Sign in in another way.'

/** The only connection, else the sign-in of the tenant. */
const pathOf = (tenantId: string, [id, ...others]: readonly string[]): string =>
  id !== undefined && others.length === 0 ? `with/${id}/` : `?organization=${tenantId}`
