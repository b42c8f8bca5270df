import { isDeepStrictEqual } from 'node:util'
import { typesOf } from '../catalogue/built-in-attributes.ts'
import { catalogue } from '../catalogue/catalogue.ts'
import type { SlicePolicy } from '../compile/compiled-policy.ts'
import { type NoPlan, type Plan, planWith } from '../plan/plan.ts'
import { createModulePool, type ModulePool, type PoolOptions } from '../sandbox/module-pool.ts'
import { type ModuleFindings, runModules } from '../sandbox/run-modules.ts'
import { assertGolden } from './assert-golden.ts'
import {
  type Bundle,
  bundleName,
  policiesFolder,
  type ReadAttributes,
  readBundle,
  sourcesRevision,
} from './bundle.ts'
import { decideWithActor } from './decide-with-actor.ts'
import { type Decision, readDecision } from './decision.ts'
import {
  type ExplainAnswer,
  type ExplainedPolicy,
  type Explanation,
  explained,
  explainInput,
} from './explain.ts'
import { evaluationRunner, type RunEvaluation } from './instances.ts'
import { inputText, instantiatorOf, type PolicyInstance } from './policy-instance.ts'
import { type AnyQuery, type ApplicationQuery, policyInput } from './query.ts'
import { hasUnknownAction, unknownAction } from './unknown-action.ts'

/** Decides and explains. */
export interface DecisionPoint {
  /**
   * Decides one query, synchronously. A denial is a value. Throws `AuthorizationUnavailable` if the module gives no
   * valid answer; that is never an allow.
   */
  decide(query: AnyQuery): Decision
  /**
   * Decides, and returns for each of these policies, in the slice or not, whether it applies and the result of its
   * condition. Throws as `decide` does.
   */
  explain(query: AnyQuery, policies: readonly ExplainedPolicy[]): Explanation
  /** For which resources of a type a query is permitted. The query has no id of a resource. Throws as `decide` does. */
  plan(query: ApplicationQuery): Plan | NoPlan
  /**
   * Prepares these modules of policies and what they run in, so that the next decision finds them ready: a decision does
   * not wait, and what is not ready is late. Waits for two seconds at most.
   */
  warmModules(modules?: readonly Uint8Array<ArrayBuffer>[]): Promise<void>
}

/** The only source of permission in the service. */
export interface AccessEngine extends DecisionPoint {
  /**
   * For tests, previews and explanations. It has threads and pauses of its own, so that a module that is only tried
   * takes nothing from those in force.
   */
  readonly trials: DecisionPoint
  /** hash (hex) of the sources of the bundle */
  readonly revision: string
  /** the verified bundle: another thread can open an engine with it (`engineOf`) */
  readonly bundle: Bundle
}

/** The engine could not answer: access is denied, and the caller is asked to try again (503). */
export class AuthorizationUnavailable extends Error {
  constructor(cause: unknown) {
    super('no decision could be made', { cause })
    this.name = 'AuthorizationUnavailable'
  }
}

/**
 * Loads the bundle, verifies it and warms it up. Throws if it was built from other sources or another action
 * catalogue, if the module cannot be trusted (see `instantiatorOf`), or if it answers a golden case differently. If it
 * `isExtended` by rules of the installation, a golden case can be denied, but a denial can never become anything else.
 */
export async function openAccessEngine(
  bundlePath = `${policiesFolder}${bundleName}`,
  folder = policiesFolder,
  isExtended = false,
): Promise<AccessEngine> {
  const bundle = { ...openBundle(bundlePath), isExtended }
  if (bundle.revision !== sourcesRevision(folder)) {
    throw new Error('The policy bundle was built from other sources. Build it again: npm run policies')
  }
  const { attributes = {}, rules } = bundle.data
  const known = { catalogue: catalogue(), attributes: typesOf(Object.keys(attributes)), rules }
  if (!isDeepStrictEqual(bundle.data, known) || !Array.isArray(rules?.look_at_resource)) {
    throw new Error(
      'The policy bundle has other actions or attributes than the code. Build it again: npm run policies',
    )
  }
  const instantiate = instantiatorOf(bundle)
  const instance = instantiate()
  await assertGolden(folder, instance, isExtended)
  return engineWith(bundle, instantiate, instance)
}

/** An engine with the bundle of another one, which has verified it. */
export const engineOf = (verified: Bundle): AccessEngine => engineWith(verified, instantiatorOf(verified))

function engineWith(
  bundle: Bundle,
  instantiate: () => PolicyInstance,
  instance = instantiate(),
): AccessEngine {
  const run = evaluationRunner(instantiate, instance)
  const decisionPointOf = (options: PoolOptions): DecisionPoint => {
    const { look_at_resource: looking } = bundle.data.rules
    const engine = { run, read: bundle.data.attributes, looking, pool: createModulePool(options) }
    return {
      decide: (query) => orUnavailable(() => decideWithActor((one) => decide(engine, one), query)),
      explain: (query, policies) => orUnavailable(() => explain(engine, query, policies)),
      plan: (query) => orUnavailable(() => planWith(engine, query)),
      warmModules: (modules) => engine.pool.warm(modules),
    }
  }
  return {
    ...decisionPointOf({ isInForce: true, threads: 3 }),
    trials: decisionPointOf({ isInForce: false, threads: 2 }),
    revision: bundle.revision,
    bundle,
  }
}

interface Engine {
  run: RunEvaluation
  read: ReadAttributes
  pool: ModulePool
}

// "incorrect header check" alone tells an operator neither the file nor the repair.
function openBundle(path: string): Bundle {
  try {
    return readBundle(path)
  } catch (cause) {
    const repair = 'Restore it from the repository, or build it again: npm run policies'
    throw new Error(`The policy bundle ${path} is missing or damaged. ${repair}`, { cause })
  }
}

function orUnavailable<T>(evaluate: () => T): T {
  try {
    return evaluate()
  } catch (cause) {
    throw new AuthorizationUnavailable(cause)
  }
}

function decide({ run, read, pool }: Engine, query: AnyQuery): Decision {
  if (hasUnknownAction(query)) return unknownAction
  const begun = performance.now()
  const { slice } = query
  const found = slice.modules.length === 0 ? undefined : moduleFindings(pool, query, slice.modules)
  const input = inputText(withFindings(policyInput(query, read), found))
  const answer = run({
    slice,
    input,
    evaluate: (instance) => readDecision(instance.evaluate('authz/decision', input, slice), query),
  })
  return { ...answer, ...faultsIn(answer, found), durationUs: Math.round((performance.now() - begun) * 1000) }
}

// In the route phase the resource is not known, and modules that read it run in the next phase.
function moduleFindings(
  pool: ModulePool,
  query: AnyQuery,
  policies: readonly SlicePolicy[],
): ModuleFindings | undefined {
  return query.phase === 'route' && query.slice.looksAtResource
    ? undefined
    : runModules(pool, query, policies)
}

const withFindings = <T extends { attrs: object }>(input: T, found: ModuleFindings | undefined): T =>
  found ? { ...input, attrs: { ...input.attrs, ...found.attrs } } : input

// The rules see that a module gave no answer, and deny. Only the host knows why.
function faultsIn(
  { reasons }: Pick<Decision, 'reasons'>,
  found: ModuleFindings | undefined,
): Partial<Decision> {
  if (!found || found.faults.size === 0) return {}
  const named = reasons.map((reason) => {
    const code = reason.code === 'policy_deny' && found.faults.get(reason.policy_id ?? '')
    return code ? { ...reason, code } : reason
  })
  return { reasons: named, late: found.late }
}

// Isolated from decisions, because its inputs are large; explanations are rare.
function explain(
  { run, read, pool }: Engine,
  query: AnyQuery,
  policies: readonly ExplainedPolicy[],
): Explanation {
  const begun = performance.now()
  const { slice } = query
  const tried = policies.filter(({ id }) => !slice.modules.some((policy) => policy.id === id))
  const modules = [...slice.modules, ...tried.filter(({ compiled }) => compiled.module)] as SlicePolicy[]
  const found = modules.length === 0 ? undefined : runModules(pool, query, modules)
  const explainedInput = withFindings(explainInput(query, policies, read), found)
  const input = inputText(explainedInput)
  const evaluate = (instance: PolicyInstance) => {
    const result = instance.evaluate('authz/explain', input, slice) as ExplainAnswer | undefined
    const answer = readDecision(result?.decision, query)
    return {
      answer,
      policies: explained(query, result?.policies ?? [], policies, explainedInput.attrs, found?.messages),
    }
  }
  const result = run({ slice, input, evaluate }, true)
  if (hasUnknownAction(query)) return { decision: unknownAction, policies: result.policies }
  return {
    decision: {
      ...result.answer,
      ...faultsIn(result.answer, found),
      durationUs: Math.round((performance.now() - begun) * 1000),
    },
    policies: result.policies,
  }
}
