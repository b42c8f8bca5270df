import { randomBytes } from 'node:crypto'
import type { Deps } from '../../deps.ts'
import { appendAudit, changesBetween } from '../../platform/audit/append-audit.ts'
import { inTenant, type Tx } from '../../platform/db/transaction.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Caller } from '../../platform/http/caller.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { insertMember } from '../members/store.ts'
import { insertSystemRoles } from '../roles/store.ts'
import { countMade, findTenant, insertTenant, type TenantRow } from './store.ts'

export interface Founder {
  id: string
  email: string
  firstName: string
  lastName: string
}

interface NewTenant {
  id: string
  name: string
  /** Chosen by the founder: 409 `slug_taken` when it is; undefined: made from the name, with a tail when needed. */
  slug: string | undefined
  founder: Founder
  /** An operator founds it for them: the deed is the service's own. */
  bySystem?: boolean
  requestInfo: RequestInfo
  decisionId?: string
  at: number
}

/**
 * Founds a tenant inside the caller's transaction, whose scope must be the new tenant: its row, its system roles,
 * the founder as owner, events. Gives the id of the founder's membership.
 */
export async function createTenantWithOwner(tx: Tx, tenant: NewTenant): Promise<string> {
  const { id, founder, bySystem, requestInfo, decisionId, at } = tenant
  await claimSlug(tx, tenant)
  const roleIds = await insertSystemRoles(tx, id, at)
  const membershipId = timeOrderedId(at)
  await insertMember(tx, {
    id: membershipId,
    tenantId: id,
    user: founder,
    departmentId: null,
    roleIds: [roleIds.owner!],
    at,
  })
  const event = {
    tenantId: id,
    actorId: bySystem ? null : founder.id,
    requestId: requestInfo.requestId,
    traceparent: requestInfo.traceparent ?? undefined,
    at,
  }
  await appendEvent(tx, { ...event, type: 'tenant.tenant_created', subject: id, data: { tenant_id: id } })
  const data = { membership_id: membershipId, user_id: founder.id }
  await appendEvent(tx, { ...event, type: 'tenant.member_added', subject: membershipId, data })
  await appendAudit(tx, {
    tenantId: id,
    actor: bySystem ? null : founder,
    requestInfo,
    ...(decisionId && { decisionId }),
    action: 'tenant:create',
    target: { type: 'tenant', id },
    changes: changesBetween(null, { name: tenant.name }),
    at,
  })
  return membershipId
}

async function claimSlug(tx: Tx, { id, name, slug, at }: NewTenant): Promise<void> {
  if (slug !== undefined) {
    if (!(await insertTenant(tx, { id, name, slug, at })))
      throw new ApiError(409, 'slug_taken', 'Another tenant has this slug. Choose another, or leave it out.')
    return
  }
  if (await insertTenant(tx, { id, name, slug: slugOf(name), at })) return
  const tailed = `${slugOf(name).slice(0, 50)}-${randomBytes(5).toString('hex')}`
  if (!(await insertTenant(tx, { id, name, slug: tailed, at }))) throw new Error('A random slug was taken')
}

/** A slug made from a name: ASCII letters and digits, joined by single dashes, at most 63 characters. */
function slugOf(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const slug = plain
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replace(/^-|-$/g, '')
  return slug || 'tenant'
}

/** Founds the tenant that a person has to themselves; the same terms as {@link createTenantWithOwner}. */
export function createPersonalTenant(tx: Tx, tenant: Omit<NewTenant, 'name' | 'slug'>): Promise<string> {
  const { firstName, email } = tenant.founder
  const name = (firstName || email.split('@')[0]!).slice(0, 110)
  return createTenantWithOwner(tx, { ...tenant, name: `${name}'s tenant`, slug: undefined })
}

/** Creates a tenant of which the caller becomes the owner; 409 `slug_taken` for a slug they chose, `limit_reached`. */
export async function createTenant(
  { db, clock, config }: Deps,
  caller: Caller,
  body: { name: string; slug?: string | undefined },
): Promise<TenantRow> {
  const at = clock()
  const id = timeOrderedId(at)
  const { userId, auth, requestInfo, decisionId } = caller
  return inTenant(db, { tenantId: id, userId }, async (tx) => {
    const founder = {
      id: userId,
      email: auth.user.email,
      firstName: auth.user.firstName,
      lastName: auth.user.lastName,
    }
    await createTenantWithOwner(tx, {
      id,
      name: body.name,
      slug: body.slug,
      founder,
      requestInfo,
      decisionId,
      at,
    })
    const max = config.LIMIT_TENANTS_PER_PERSON
    if (!(await countMade(tx, { userId, tenantId: id, max })))
      throw new ApiError(
        409,
        'limit_reached',
        `A person may create ${max} tenants; deleted ones count for 30 days.`,
      )
    const tenant = await findTenant(tx, id, userId)
    if (!tenant) throw new Error('The tenant just made cannot be seen')
    return tenant
  })
}
