import { randomBytes } from 'node:crypto'
import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { appendAudit, changesBetween } from '../../messages/audit/append-audit.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { insertMember } from '../members/store.ts'
import { insertSystemRoles } from '../roles/store.ts'
import type { SetUpTenant } from './set-up-tenant.ts'
import { countCreatedTenant, findTenant, insertTenant, type TenantRow } from './store.ts'

export interface Founder {
  id: string
  email: string
  firstName: string
  lastName: string
}

interface NewTenant {
  id: string
  name: string
  /** Chosen by the founder, or made from the name when undefined. */
  slug: string | undefined
  founder: Founder
  /** An operator creates the tenant for the founder: the audit log names the service as actor. */
  bySystem?: boolean
  requestInfo: RequestInfo
  decisionId?: string
  at: number
}

/**
 * Inserts a tenant with its system roles and its founder as owner, and records events and an audit row. The scope of
 * the transaction must be the new tenant. Returns the id of the founder's membership. 409 `slug_taken` for a slug that
 * the founder chose.
 */
export async function createTenantWithOwner(
  tx: Tx,
  { setUpTenant }: { setUpTenant: SetUpTenant },
  tenant: NewTenant,
): Promise<string> {
  const { id, founder, bySystem, requestInfo, decisionId, at } = tenant
  await claimSlug(tx, tenant)
  const roleIds = await insertSystemRoles(tx, id, at)
  const membershipId = timeOrderedId(at)
  await insertMember(tx, {
    id: membershipId,
    tenantId: id,
    userId: founder.id,
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
  await setUpTenant(tx, { tenantId: id, requestInfo, at })
  return membershipId
}

async function claimSlug(tx: Tx, { id, name, slug, at }: NewTenant): Promise<void> {
  if (slug !== undefined) {
    if (!(await insertTenant(tx, { id, name, slug, at })))
      throw new ApiError(409, 'slug_taken', 'Another tenant has this slug. Choose another, or leave it out.')
    return
  }
  if (await insertTenant(tx, { id, name, slug: slugOf(name), at })) return
  const suffixed = `${slugOf(name).slice(0, 50)}-${randomBytes(5).toString('hex')}`
  if (!(await insertTenant(tx, { id, name, slug: suffixed, at }))) throw new Error('A random slug was taken')
}

/** Makes a slug from a name: ASCII letters and digits, joined by single dashes, at most 63 characters. */
function slugOf(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
  const slug = plain
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replace(/^-|-$/g, '')
  return slug || 'tenant'
}

/** Creates a person's own tenant, under the conditions of {@link createTenantWithOwner}. */
export function createPersonalTenant(
  tx: Tx,
  deps: { setUpTenant: SetUpTenant },
  tenant: Omit<NewTenant, 'name' | 'slug'>,
): Promise<string> {
  const { firstName, email } = tenant.founder
  const name = (firstName || email.split('@')[0]!).slice(0, 110)
  return createTenantWithOwner(tx, deps, { ...tenant, name: `${name}'s tenant`, slug: undefined })
}

/**
 * Creates a tenant with the caller as owner; the scope of the transaction must be the new tenant. 409 `slug_taken` for a
 * slug that the caller chose, 409 `limit_reached`.
 */
export async function createTenant(
  tx: Tx,
  deps: Pick<Deps, 'clock' | 'config' | 'setUpTenant'>,
  { userId, auth, requestInfo, decisionId }: Caller,
  { id, name, slug }: { id: string; name: string; slug?: string | undefined },
): Promise<TenantRow> {
  const { email, firstName, lastName } = auth.user
  const founder = { id: userId, email, firstName, lastName }
  const at = deps.clock()
  await createTenantWithOwner(tx, deps, { id, name, slug, founder, requestInfo, decisionId, at })
  const max = deps.config.LIMIT_TENANTS_PER_PERSON
  if (!(await countCreatedTenant(tx, { userId, tenantId: id, max })))
    throw new ApiError(
      409,
      'limit_reached',
      `A person can create at most ${max} tenants. Deleted tenants count for 30 days.`,
    )
  const tenant = await findTenant(tx, id, userId)
  if (!tenant) throw new Error('The new tenant cannot be read')
  return tenant
}
