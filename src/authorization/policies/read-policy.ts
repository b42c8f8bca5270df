import type { Read } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import { listing } from '../../lists/lists.ts'
import { pathId } from '../../request/path-id.ts'
import type { LoadTarget } from '../../request/route.ts'
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
export async function findTarget(
  read: Read,
  { caller: { tenantId }, params }: LoadTarget,
): Promise<PolicyTarget | null> {
  const [row, schema] = await Promise.all([
    findPolicy(read, tenantId, pathId(params.id)),
    readPolicySchema(read, tenantId),
  ])
  return row && { row, schema }
}

/** A policy as a resource of policies. */
export const policyResource = ({ row, schema }: PolicyTarget) => ({
  type: 'policy',
  id: row.id,
  ownerId: row.managed_by === null ? row.created_by : null,
  fields: showPolicy(row, schema.roles),
})

/** The tenant's policies. Each row comes with the names of the roles, which it shows. */
export const policies = (deps: Deps) =>
  listing(deps, {
    path: '/api/v1/policies',
    list: policyList,
    rows: async (read, { caller: { tenantId } }, page) => {
      const [rows, count, roles] = await Promise.all([
        listPolicies(read, tenantId, page),
        countPolicies(read, tenantId, page),
        listRoleNames(read, tenantId),
      ])
      return { rows: rows.map((row) => ({ ...row, roles })), count }
    },
    show: ({ roles, ...row }) => showPolicy(row, roles),
  })

/** The versions of a policy, newest first. */
export const versions = (deps: Deps) =>
  listing(deps, {
    path: '/api/v1/policies/:id/versions',
    list: versionList,
    rows: async (read, { caller: { tenantId }, params }, page) => {
      const id = pathId(params.id)
      const [rows, policy, roles] = await Promise.all([
        listVersions(read, tenantId, id, page),
        findPolicy(read, tenantId, id),
        listRoleNames(read, tenantId),
      ])
      return { rows: rows.map((row) => ({ ...row, roles })), count: policy?.version ?? 0 }
    },
    show: ({ roles, ...version }) => showVersion(version, roles),
  })
