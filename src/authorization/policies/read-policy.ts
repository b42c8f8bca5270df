import type { Deps } from '../../deps.ts'
import type { ListPage, ListQuery } from '../../platform/db/list.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { answerPage } from '../../platform/http/lists.ts'
import { permitPolicy } from './permit-policy.ts'
import { showPolicy, showVersion } from './show-policy.ts'
import { countPolicies, findPolicy, listPolicies, listRoleNames, policyList } from './store.ts'
import { listVersions, versionList } from './version-store.ts'

/** One policy, decided; throws 404 and 403. */
export async function readPolicy(deps: Deps, actor: Actor, id: string) {
  const { row, roles } = await inTenant(deps.db, actor, async (tx) => ({
    row: await findPolicy(tx, actor.tenantId, id),
    roles: await listRoleNames(tx, actor.tenantId),
  }))
  permitPolicy(actor, row, roles)
  return { row, roles }
}

/** A page of the tenant's policies. */
export async function pageOfPolicies(deps: Deps, actor: Actor, query: ListQuery) {
  const { tenantId } = actor
  const names = await inTenant(deps.db, actor, (tx) => listRoleNames(tx, tenantId))
  const load = (page: ListPage) =>
    inTenant(deps.db, actor, async (tx) => ({
      rows: await listPolicies(tx, tenantId, page),
      count: await countPolicies(tx, tenantId, page),
    }))
  const asked = { path: '/api/v1/policies', query }
  return answerPage(deps, actor, policyList, asked, load, (row) => showPolicy(row, names))
}

/** The versions of a policy, newest first. */
export async function pageOfVersions(deps: Deps, actor: Actor, id: string, query: ListQuery) {
  const { row, roles } = await readPolicy(deps, actor, id)
  const { tenantId } = actor
  const load = (page: ListPage) =>
    inTenant(deps.db, actor, async (tx) => ({
      rows: await listVersions(tx, tenantId, id, page),
      count: row.version,
    }))
  const asked = { path: `/api/v1/policies/${id}/versions`, query }
  return answerPage(deps, actor, versionList, asked, load, (version) => showVersion(version, roles))
}
