import {
  type ActivePolicies,
  listActivePolicies,
  withCompiled,
} from '../../authorization/policies/active-store.ts'
import { type ActivePolicy, sizeFault } from '../../authorization/policies/slice-limits.ts'
import type { Tx } from '../../database/executor/transaction.ts'
import { readRevision } from '../../database/revisions.ts'
import type { planPolicies, TenantPolicy } from './policy-plan.ts'

type Planned = ReturnType<typeof planPolicies>

/** A tenant's policies as they were read, to be measured with those of the manifests. */
export interface Unmeasured {
  planned: Planned
  active: Awaited<ReturnType<typeof listActivePolicies>>
}

/** The policies that are too costly, at a policy revision of the tenant. */
export interface Measured {
  revision: number
  costly: ReadonlySet<string>
}

// The tenant's own policies cannot fill this part of the limits.
const managedReserve = 1.25

/** The name of a managed policy among all of a tenant. */
export const nameOf = ({ application, key }: Pick<TenantPolicy, 'application' | 'key'>) =>
  `${application}/${key}`

/**
 * What has to be measured, because the tenant has policies beside those that are written; null if nothing has, or if
 * `measured` is of the tenant's present revision. The tenant is locked.
 */
export async function findUnmeasured(
  tx: Tx,
  tenantId: string,
  planned: Planned,
  measured: Measured | undefined,
): Promise<Unmeasured | null> {
  const { written, removed } = planned
  if (written.length === 0) return null
  if (measured && measured.revision === (await readRevision(tx, tenantId))) return null
  const active = await listActivePolicies(tx, tenantId)
  const replaced = new Set([...removed.map(({ id }) => id), ...written.map(({ current }) => current?.id)])
  // Together they were measured when the manifest was compiled.
  return active.policies.every(({ id }) => replaced.has(id!)) ? null : { planned, active }
}

/**
 * Finds the policies that do not fit together with the tenant's others, even with the reserve. Measuring is slow, so it needs
 * no transaction.
 */
export async function measurePolicies({ planned, active }: Unmeasured): Promise<Measured> {
  const { tenantId, revision, policies } = await withCompiled(active)
  return { revision, costly: new Set(costlyOf(planned, { tenantId, revision, policies }).map(nameOf)) }
}

/** Denials come first, so no allow takes their place: neither a new one nor one that is replaced. */
function costlyOf({ written, removed }: Planned, { tenantId, policies }: ActivePolicies<ActivePolicy>) {
  const leaving = new Set([...removed.map(({ id }) => id), ...written.map(({ current }) => current?.id)])
  const fitting = policies.filter(({ id }) => !leaving.has(id))
  return written.filter((policy, index) => {
    if (!policy.fields.is_active) return false
    const next = inSlice(policy, index)
    const isCostly = sizeFault(tenantId, next, fitting, managedReserve) !== undefined
    // One that is kept back stays as it is.
    const stays = isCostly ? policies.find(({ id }) => id === next.id) : next
    if (stays) fitting.push(stays)
    return isCostly
  })
}

const inSlice = ({ fields, compiled, current }: TenantPolicy, index: number): ActivePolicy => ({
  id: current?.id ?? `new ${index}`,
  version: 1,
  name: fields.name,
  priority: fields.priority,
  compiled,
  bytes: JSON.stringify(compiled).length,
})
