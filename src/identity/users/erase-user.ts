import type { Deps } from '../../deps.ts'
import { appendAudit } from '../../platform/audit/append-audit.ts'
import { asSystem, type Tx } from '../../platform/db/transaction.ts'
import { ApiError, unavailable } from '../../platform/errors.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { deleteInvitationsTo } from '../../tenancy/invitations/store.ts'
import { listMembershipsToEnd, type MembershipToEnd } from '../../tenancy/members/store.ts'
import { eraseTenants, lockTenantsOf } from '../../tenancy/tenants/store.ts'
import { accountKey } from '../rate-limits/limits.ts'
import { clearAttempts } from '../rate-limits/store.ts'
import { deletePerson, holdPerson, insertErasure } from './erase-store.ts'
import { findUser, findUserByEmail } from './store.ts'

/** Who is erased, and by whom: themselves, or an operator. */
export interface Erasing {
  person: { id: string } | { email: string }
  byThemselves: boolean
  requestInfo: RequestInfo
}

/** What went: `tenantsDeleted` are slugs of tenants that nobody else belonged to. */
export interface Erased {
  id: string
  tenantsDeleted: string[]
  tenantsLeft: number
}

/**
 * Erases a person: the account with its memberships, sessions, factors, links and places, tenants that nobody else
 * belongs to, and invitations to the address. What the logs of other tenants keep of them is scrubbed down to the id
 * by the actor retention. Null where there is no such person; 409 `last_owner` with `tenants[]` where they alone own a
 * tenant that others belong to.
 */
export function eraseUser(
  { db, clock, log }: Pick<Deps, 'clock' | 'log'> & { db: Pick<Deps['db'], 'system'> },
  { person, byThemselves, requestInfo }: Erasing,
): Promise<Erased | null> {
  const at = clock()
  return asSystem(db, 'a person is erased in every tenant', async (tx) => {
    // Tenants come before people, as wherever both are locked.
    const found = 'id' in person ? await findUser(tx, person.id) : await findUserByEmail(tx, person.email)
    if (!found) return null
    const { id } = found
    const locked = new Set(await lockTenantsOf(tx, id))
    const email = await holdPerson(tx, id)
    if (email === null) return null
    const belongings = await listMembershipsToEnd(tx, id)
    if (belongings.some(({ tenant_id }) => !locked.has(tenant_id)))
      throw unavailable('overloaded', 'They joined a tenant just now. Try again.', 1)
    assertOwnersRemain(belongings)
    const gone = belongings.filter(({ has_others }) => !has_others)
    const left = belongings.filter(({ has_others, is_deleted }) => has_others && !is_deleted)
    const invitations = await deleteInvitationsTo(tx, { email, userId: id })
    const deed = { id, byThemselves, requestInfo, at }
    for (const place of left) await recordLeaving(tx, deed, place)
    for (const { tenant_id, id: invitation } of invitations.filter(({ was_pending }) => was_pending))
      await recordEvent(tx, deed, {
        type: 'tenant.invitation_cancelled',
        tenantId: tenant_id,
        subject: invitation,
        data: { invitation_id: invitation },
      })
    await eraseTenants(
      tx,
      gone.map(({ tenant_id }) => tenant_id),
      at,
    )
    await clearAttempts(tx, accountKey(email))
    const tenantIds = [...belongings, ...invitations].map(({ tenant_id }) => tenant_id)
    const targetIds = [
      id,
      ...belongings.map(({ membership_id }) => membership_id),
      ...invitations.map((invitation) => invitation.id),
      ...gone.map(({ tenant_id }) => tenant_id),
    ]
    await insertErasure(tx, { userId: id, email, tenantIds: [...new Set(tenantIds)], targetIds, at })
    await deletePerson(tx, id)
    return { id, tenantsDeleted: gone.map(({ slug }) => slug), tenantsLeft: left.length }
  }).then((erased) => {
    if (erased) log.info({ user_id: erased.id }, 'a person was erased')
    return erased
  })
}

function assertOwnersRemain(belongings: readonly MembershipToEnd[]): void {
  const orphaned = belongings.filter((b) => b.is_owner && b.has_others && !b.has_other_owner && !b.is_deleted)
  if (orphaned.length === 0) return
  const tenants = orphaned.map(({ tenant_id: id, name, slug }) => ({ id, name, slug }))
  throw new ApiError(
    409,
    'last_owner',
    `Others belong to tenants of which this is the only owner: ${tenants.map(({ slug }) => slug).join(', ')}. Make somebody else an owner there, or delete them.`,
    { members: { tenants } },
  )
}

interface Deed {
  id: string
  byThemselves: boolean
  requestInfo: RequestInfo
  at: number
}

type NewEvent = Parameters<typeof appendEvent>[1]

/** An event without the person's address, or where they called from. */
const recordEvent = (
  tx: Tx,
  { id, byThemselves, requestInfo, at }: Deed,
  event: Pick<NewEvent, 'type' | 'tenantId' | 'subject' | 'data'>,
) =>
  appendEvent(tx, {
    ...event,
    actorId: byThemselves ? id : null,
    requestId: requestInfo.requestId,
    at,
  } as NewEvent)

async function recordLeaving(tx: Tx, deed: Deed, { tenant_id: tenantId, membership_id }: MembershipToEnd) {
  const { id, byThemselves, requestInfo, at } = deed
  await recordEvent(tx, deed, {
    type: 'tenant.member_removed',
    tenantId,
    subject: membership_id,
    data: { membership_id, user_id: id },
  })
  await recordEvent(tx, deed, { type: 'identity.user_deleted', tenantId, subject: id, data: { user_id: id } })
  await appendAudit(tx, {
    tenantId,
    actor: byThemselves ? { id, email: null } : null,
    requestInfo: { requestId: requestInfo.requestId, ip: '', userAgent: '' },
    action: byThemselves ? 'profile:delete' : 'user:erase',
    target: { type: 'user', id },
    at,
  })
}
