import { type Databases, inTenant } from '../../database/executor/transaction.ts'
import { compilePolicy } from '../../policy-engine/compile/compile-policy.ts'
import type { DecisionPoint } from '../../policy-engine/evaluate/engine.ts'
import type { ExplainedPolicy, Explanation } from '../../policy-engine/evaluate/explain.ts'
import type { AnyQuery } from '../../policy-engine/evaluate/query.ts'
import { findModuleOf, unzipped } from '../policies/active-store.ts'
import { readPolicySchema, roleFinder } from '../policies/policy-schema.ts'
import { findVersion } from '../policies/store.ts'

interface Explaining {
  db: Pick<Databases, 'api'>
  trials: Pick<DecisionPoint, 'explain' | 'warmModules'>
}

/** A version of a policy. */
export interface PolicyRef {
  policy_id: string
  version: number
}

/** Evaluates versions of policies for a query. */
export type ExplainVersions = (refs: readonly PolicyRef[]) => Promise<Explanation['policies']>

/** Evaluates the conditions of policies for a recorded query, which is not decided again. Leaves out what is not shown. */
export const versionExplainer =
  (
    { db, trials }: Explaining,
    reader: { tenantId: string; userId: string },
    query: AnyQuery,
    isShown: (policy: ExplainedPolicy) => boolean,
  ): ExplainVersions =>
  async (refs) => {
    const versions = (await policiesOf({ db }, reader, refs)).filter(isShown)
    if (versions.length === 0) return []
    const modules = versions.flatMap(({ wasm }) => wasm ?? [])
    if (modules.length > 0) await trials.warmModules(modules)
    return trials.explain(query, versions).policies
  }

/** Policies in these versions, deleted ones included. */
async function policiesOf(
  { db }: Pick<Explaining, 'db'>,
  reader: { tenantId: string; userId: string },
  refs: readonly PolicyRef[],
): Promise<ExplainedPolicy[]> {
  const { tenantId } = reader
  const { schema, versions } = await inTenant(db, reader, async (tx) => {
    const versions = await Promise.all(
      refs.map(async ({ policy_id, version }) => {
        const [found, module] = await Promise.all([
          findVersion(tx, tenantId, policy_id, version),
          findModuleOf(tx, tenantId, policy_id, version),
        ])
        return { version: found, module }
      }),
    )
    return { schema: await readPolicySchema(tx, tenantId), versions }
  })
  const context = { attributes: schema.attributes, role: roleFinder(schema) }
  const explained: ExplainedPolicy[] = []
  for (const { version, module } of versions) {
    if (!version || (version.source.module !== undefined && !module)) continue
    const result = compilePolicy(version.source, { ...context, ...(module && { module }) })
    // It cannot be compiled if one of its attributes was deleted since.
    if ('faults' in result) continue
    explained.push({
      id: version.policy_id,
      version: version.version,
      compiled: result.policy,
      document: result.document,
      wasm: module && (await unzipped(module.zipped)),
    })
  }
  return explained
}
