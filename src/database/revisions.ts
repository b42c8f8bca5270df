import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { lockOnCluster, rowLock } from './cluster/cluster-locks.ts'
import type { Read } from './executor/read.ts'
import { policyRevisionRow } from './executor/row-schemas.ts'
import { sql, type Tx } from './executor/transaction.ts'

// The policy revision of a tenant is tenants.policy_revision. On a cluster every node has a copy of that row, so its changes concern all
// nodes. There the tenant's own node counts them, in tenant_revisions, and the revision is the sum of both. A tenant without a row there
// has had no such change.

const manifestRevisionRow = z.object({ manifest_revision: z.number() })

/**
 * Locks a tenant until the transaction ends, so that rules over many of its rows hold: an owner remains, departments
 * have no cycle, the number of roles is limited. Later statements of the transaction read current rows.
 */
export async function lockTenant(tx: Tx, tenantId: string): Promise<void> {
  if (tx.distributed) countOnItsNode(tx, tenantId, 0)
  else tx.later(sql.unsafe`select 1 from tenants where id = ${tenantId} for no key update`)
}

/**
 * Records that roles, attribute definitions or policies changed, so that no decision uses older ones. The row of the
 * tenant is locked until the transaction ends, so that such changes happen one at a time. As `Tx.later`.
 */
export function incrementPolicyRevision(tx: Tx, tenantId: string): void {
  if (tx.distributed) countOnItsNode(tx, tenantId, 1)
  else tx.later(sql.unsafe`update tenants set policy_revision = policy_revision + 1 where id = ${tenantId}`)
}

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
  lockOnCluster(tx, tenantId)
  tx.later(sql.unsafe`
    update tenants set manifest_revision = ${revision}, policy_revision = policy_revision + ${isChanged ? 1 : 0}
    where id = ${tenantId}`)
}

/** Locks a tenant until the transaction ends, and returns the revision of the manifests whose rules it has. */
export async function lockManifestRevision(tx: Tx, tenantId: string): Promise<number | null> {
  if (tx.distributed) await lockTenant(tx, tenantId)
  return tx.maybeOneFirst(sql.type(manifestRevisionRow)`
    select manifest_revision from tenants where id = ${tenantId} and deleted_at is null
    ${rowLock(tx, 'no key update')}`)
}
