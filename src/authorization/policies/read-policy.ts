import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Caller } from '../../platform/http/caller.ts'
import { answerPage } from '../../platform/http/lists.ts'
import { permitPolicy } from './permit-policy.ts'
import { showPolicy, showVersion } from './show-policy.ts'
import { countPolicies, findPolicy, listPolicies, listRoleNames, policyList } from './store.ts'
import { listVersions, versionList } from './version-store.ts'

/** One policy, decided; throws 404 and 403. */
export async function readPolicy(deps: Deps, caller: Caller, id: string) {
  const { row, roles } = await inTenant(deps.db, caller, async (tx) => ({
    row: await findPolicy(tx, caller.tenantId, id),
    roles: await listRoleNames(tx, caller.tenantId),
  }))
  permitPolicy(caller, row, roles)
  return { row, roles }
}

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
export async function pageOfVersions(deps: Deps, caller: Caller, id: string, query: ListQuery) {
  const { row, roles } = await readPolicy(deps, caller, id)
  const { tenantId } = caller
  const load = (page: ListPage) =>
    inTenant(deps.db, caller, async (tx) => ({
      rows: await listVersions(tx, tenantId, id, page),
      count: row.version,
    }))
  const asked = { path: `/api/v1/policies/${id}/versions`, query }
  return answerPage(deps, caller, versionList, asked, load, (version) => showVersion(version, roles))
}
