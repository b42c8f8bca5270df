import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import type { Read } from './executor/read.ts'
import { idRow, policyRevisionRow } from './executor/row-schemas.ts'
import { sql, type Tx } from './executor/transaction.ts'
import { willChange } from './locks.ts'

// The lock of a tenant, and its two revisions: of its policies (with roles and attribute definitions), and of the manifests whose rules it
// has. On one Postgres all three are the tenant's row. On a cluster every node has a copy of that row, so a change concerns all nodes.
// What changes often is therefore on the tenant's own node: tenant_revisions locks the tenant and counts changes of its policies.
// The policy revision is the sum of both. A tenant without a row there has had no such change.

const manifestRevisionRow = z.object({ manifest_revision: z.number() })

/**
 * Locks a tenant until the transaction ends, so that rules over many of its rows hold: an owner remains, departments
 * have no cycle, the number of roles is limited. Later statements of the transaction read current rows.
 */
export async function lockTenant(tx: Tx, tenantId: string): Promise<void> {
  if (tx.distributed) countOnItsNode(tx, tenantId, 0)
  else tx.later(sql.unsafe`select 1 from tenants where id = ${tenantId} for no key update`)
}

/** Locks the tenants whose ids the query `ids` gives, in the order of their ids, which it returns. */
export async function lockTenants(tx: Tx, ids: FragmentSqlToken): Promise<readonly string[]> {
  const found = await tx.anyFirst(sql.type(idRow)`
    select id from tenants where id in (${ids}) order by id ${rowLock(tx)}`)
  if (tx.distributed) for (const id of found) countOnItsNode(tx, id, 0)
  return found
}

/**
 * Records that roles, attribute definitions or policies changed, so that no decision uses older ones. The tenant is locked until
 * the transaction ends, so that such changes happen one at a time. As `Tx.later`.
 */
export function revise(tx: Tx, tenantId: string): void {
  if (tx.distributed) countOnItsNode(tx, tenantId, 1)
  else tx.later(sql.unsafe`update tenants set policy_revision = policy_revision + 1 where id = ${tenantId}`)
}

const rowLock = ({ distributed }: Tx) => (distributed ? sql.fragment`` : sql.fragment`for no key update`)

function countOnItsNode(tx: Tx, tenantId: string, changes: 0 | 1): void {
  tx.later(sql.unsafe`
    insert into tenant_revisions as r (tenant_id, policy_changes) values (${tenantId}, ${changes})
    on conflict (tenant_id) do update set policy_changes = r.policy_changes + ${changes}`)
}

/** The tenant's current policy revision. */
export function readRevision(read: Read, tenantId: string): Promise<number> {
  return read.oneFirst(sql.type(policyRevisionRow)`
    select ${revisionOf(read, tenantId)} as policy_revision from tenants t where t.id = ${tenantId}`)
}

/** The policy revision of a row `t` of tenants. */
export const revisionOf = ({ distributed }: Pick<Read, 'distributed'>, tenantId: string): FragmentSqlToken =>
  distributed
    ? sql.fragment`t.policy_revision + coalesce((
        select v.policy_changes from tenant_revisions v where v.tenant_id = ${tenantId}), 0)`
    : sql.fragment`t.policy_revision`

/**
 * Records that a tenant has the rules of the manifests up to `revision`. If they changed its policies, roles or attribute
 * definitions (`isChanged`), the policy revision grows, too.
 */
export async function setManifestRevision(
  tx: Tx,
  tenantId: string,
  { revision, isChanged }: { revision: number; isChanged: boolean },
): Promise<void> {
  willChange(tx, tenantId)
  tx.later(sql.unsafe`
    update tenants set manifest_revision = ${revision}, policy_revision = policy_revision + ${isChanged ? 1 : 0}
    where id = ${tenantId}`)
}

/** Locks a tenant until the transaction ends, and returns the revision of the manifests whose rules it has. */
export async function lockManifestRevision(tx: Tx, tenantId: string): Promise<number | null> {
  if (tx.distributed) countOnItsNode(tx, tenantId, 0)
  return tx.maybeOneFirst(sql.type(manifestRevisionRow)`
    select manifest_revision from tenants where id = ${tenantId} and deleted_at is null
    ${rowLock(tx)}`)
}
