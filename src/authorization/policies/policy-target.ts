import type { Tx } from '../../platform/db/transaction.ts'
import { pathId } from '../../platform/http/authenticate.ts'
import type { Target } from '../../platform/http/route.ts'
import { type PolicySchema, readPolicySchema } from './policy-schema.ts'
import { showPolicy } from './show-policy.ts'
import { findPolicy, type PolicyRow } from './store.ts'

/** The policy of a path, with the words that policies of its tenant may use. */
export interface PolicyTarget {
  row: PolicyRow
  schema: PolicySchema
}

/** Finds the policy of the path; null where there is none. */
export async function findTarget(tx: Tx, { caller, params }: Target): Promise<PolicyTarget | null> {
  const row = await findPolicy(tx, caller.tenantId, pathId(params.id))
  return row && { row, schema: await readPolicySchema(tx, caller.tenantId) }
}

/** A policy, as policies about policies see it. */
export const policyResource = ({ row, schema }: PolicyTarget) => ({
  type: 'policy',
  id: row.id,
  ownerId: row.created_by,
  fields: showPolicy(row, schema.roles),
})
