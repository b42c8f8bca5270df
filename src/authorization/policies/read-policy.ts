import type { Deps } from '../../deps.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { closePage, type ListContext, openPage } from '../../platform/http/lists.ts'
import { permitPolicy } from './permit-policy.ts'
import { showPolicy, showVersion } from './show-policy.ts'
import { countPolicies, findPolicy, listPolicies, listVersions } from './store.ts'
import { listRoleNames } from './vocabulary.ts'

type Query = ListContext['query']

/** One policy, decided; throws 404 and 403. */
export async function readPolicy(deps: Deps, actor: Actor, id: string) {
  const { row, roles } = await inTenant(deps.db, actor, async (tx) => ({
    row: await findPolicy(tx, actor.tenantId, id),
    roles: await listRoleNames(tx, actor.tenantId),
  }))
  permitPolicy(actor, row, roles)
  return { row, roles }
}

/** A page of the tenant's policies, oldest first. */
export async function pageOfPolicies(deps: Deps, actor: Actor, query: Query) {
  const list = listOf(deps, actor, '/api/v1/policies', query)
  const page = openPage(list)
  const [rows, count, roles] = await inTenant(deps.db, actor, async (tx) => [
    await listPolicies(tx, actor.tenantId, page),
    await countPolicies(tx, actor.tenantId),
    await listRoleNames(tx, actor.tenantId),
  ])
  return closePage(
    list,
    page,
    rows,
    count,
    (row) => ({ at: row.created_at, id: row.id }),
    (row) => showPolicy(row, roles),
  )
}

/** The versions of a policy, newest first. */
export async function pageOfVersions(deps: Deps, actor: Actor, id: string, query: Query) {
  const { row, roles } = await readPolicy(deps, actor, id)
  const list = listOf(deps, actor, `/api/v1/policies/${id}/versions`, query)
  const page = openPage(list)
  const rows = await inTenant(deps.db, actor, (tx) => listVersions(tx, actor.tenantId, id, page))
  return closePage(
    list,
    page,
    rows,
    row.version,
    (version) => ({ at: version.created_at, id: version.id }),
    (version) => showVersion(version, roles),
  )
}

const listOf = (deps: Deps, actor: Actor, path: string, query: Query): ListContext => ({
  sealer: deps.sealer,
  publicUrl: deps.publicUrl(),
  path,
  tenantId: actor.tenantId,
  query,
})
