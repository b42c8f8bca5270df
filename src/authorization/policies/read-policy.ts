import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant, type Tx } from '../../platform/db/transaction.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { answerPage } from '../../platform/http/lists.ts'
import type { Target } from '../../platform/http/route.ts'
import { type PolicySchema, readPolicySchema } from './policy-schema.ts'
import { showPolicy, showVersion } from './show-policy.ts'
import {
  countPolicies,
  findPolicy,
  listPolicies,
  listRoleNames,
  listVersions,
  type PolicyRow,
  policyList,
  versionList,
} from './store.ts'

/** The policy of the path, with the policy schema of its tenant. */
export interface PolicyTarget {
  row: PolicyRow
  schema: PolicySchema
}

/** Finds the policy of the path, or null. */
export async function findTarget(tx: Tx, { caller, params }: Target): Promise<PolicyTarget | null> {
  const row = await findPolicy(tx, caller.tenantId, pathId(params.id))
  return row && { row, schema: await readPolicySchema(tx, caller.tenantId) }
}

/** A policy as a resource of policies. */
export const policyResource = ({ row, schema }: PolicyTarget) => ({
  type: 'policy',
  id: row.id,
  ownerId: row.managed_by === null ? row.created_by : null,
  fields: showPolicy(row, schema.roles),
})

/** {@link findTarget} in a transaction of its own. */
export const loadPolicy = (deps: Deps, target: Target): Promise<PolicyTarget | null> =>
  inTenant(deps.db, target.caller, (tx) => findTarget(tx, target))

/** A page of the tenant's policies. */
export async function pageOfPolicies(deps: Deps, caller: Caller, query: ListQuery) {
  const { tenantId } = caller
  const names = await inTenant(deps.db, caller, (tx) => listRoleNames(tx, tenantId))
  const load = (page: ListPage) =>
    inTenant(deps.db, caller, async (tx) => ({
      rows: await listPolicies(tx, tenantId, page),
      count: await countPolicies(tx, tenantId, page),
    }))
  const asked = { path: '/api/v1/policies', query }
  return answerPage(deps, caller, policyList, asked, load, (row) => showPolicy(row, names))
}

/** The versions of a policy, newest first. */
export function pageOfVersions(
  deps: Deps,
  caller: Caller,
  { row, schema: { roles } }: PolicyTarget,
  query: ListQuery,
) {
  const { tenantId } = caller
  const { id } = row
  const load = (page: ListPage) =>
    inTenant(deps.db, caller, async (tx) => ({
      rows: await listVersions(tx, tenantId, id, page),
      count: row.version,
    }))
  const asked = { path: `/api/v1/policies/${id}/versions`, query }
  return answerPage(deps, caller, versionList, asked, load, (version) => showVersion(version, roles))
}
