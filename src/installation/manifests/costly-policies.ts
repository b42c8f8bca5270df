import { listActivePolicies, withCompiled } from '../../authorization/policies/active-store.ts'
import { type ActivePolicy, budgetFault } from '../../authorization/policies/slice-budget.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import type { planPolicies, TenantPolicy } from './policy-plan.ts'

// The tenant's own policies cannot fill this part of the budgets.
const managedReserve = 1.25

/** The policies that do not fit together with those that the tenant wrote itself, even with the reserve. */
export async function costlyPolicies(
  tx: Tx,
  tenantId: string,
  { written, removed }: ReturnType<typeof planPolicies>,
): Promise<TenantPolicy[]> {
  if (written.length === 0) return []
  const { policies } = await withCompiled(await listActivePolicies(tx, tenantId))
  const left = new Set(removed.map(({ id }) => id))
  const replaced = new Set(written.map(({ current }) => current?.id))
  let active: ActivePolicy[] = policies.filter(({ id }) => !left.has(id))
  // Together they were measured when the manifest was compiled.
  if (active.every(({ id }) => replaced.has(id))) return []
  return written.filter((policy, index) => {
    if (!policy.fields.is_active) return false
    const next = inSlice(policy, index)
    if (budgetFault(tenantId, next, active, managedReserve)) return true
    active = [...active.filter(({ id }) => id !== next.id), next]
    return false
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
