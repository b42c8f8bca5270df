import { isDeepStrictEqual } from 'node:util'
import { catalogue } from '../catalogue/catalogue.ts'
import { type Bundle, bundleName, policiesFolder, readBundle, sourcesRevision } from './bundle.ts'
import { type Decision, readDecision } from './decision.ts'
import {
  type ExplainAnswer,
  type ExplainedPolicy,
  type Explanation,
  explained,
  explainInput,
} from './explain.ts'
import { assertGolden } from './golden-cases.ts'
import { evaluationRunner, type RunEvaluation } from './instances.ts'
import { compileModule, inputText, type PolicyInstance } from './module.ts'
import { type AnyQuery, policyInput } from './query.ts'

/** The one place that says yes. */
export interface AccessEngine {
  /**
   * Decides one query, synchronously. A denial is a value; throws `AuthorizationUnavailable` where the module
   * gave no valid answer, which is never an allow.
   */
  decide(query: AnyQuery): Decision
  /**
   * Decides and says of each of the policies, in the slice or not, whether it applies and what came of its
   * condition. Throws as `decide` does.
   */
  explain(query: AnyQuery, policies: readonly ExplainedPolicy[]): Explanation
  /** content hash (hex) of the policies in force */
  readonly revision: string
}

/** The engine could not answer: nobody gets in, and the caller is told to come back (503). */
export class AuthorizationUnavailable extends Error {
  constructor(cause: unknown) {
    super('no decision could be made', { cause })
    this.name = 'AuthorizationUnavailable'
  }
}

/**
 * Loads `bundle.tar.gz` of a policies folder, verifies and warms it. Throws where the bundle was built from
 * other sources or another action catalogue, where the module is not to be trusted (see `compileModule`), or
 * where it answers one golden case differently.
 */
export async function openAccessEngine(
  bundlePath = `${policiesFolder}${bundleName}`,
  folder = policiesFolder,
): Promise<AccessEngine> {
  const bundle = openBundle(bundlePath)
  if (bundle.revision !== sourcesRevision(folder)) {
    throw new Error('the policy bundle was built from other sources: npm run policies')
  }
  if (!isDeepStrictEqual(bundle.data, { catalogue: catalogue() })) {
    throw new Error('the policy bundle knows other actions than the code: npm run policies')
  }
  const instantiate = compileModule(bundle)
  const instance = instantiate()
  assertGolden(folder, instance)
  const run = evaluationRunner(instantiate, instance)
  return {
    decide: (query) => answered(() => decided(run, query)),
    explain: (query, policies) => answered(() => explaining(run, query, policies)),
    revision: bundle.revision,
  }
}

/** With the file and what to do: an operator who reads that a header is wrong knows of neither. */
function openBundle(path: string): Bundle {
  try {
    return readBundle(path)
  } catch (cause) {
    const todo = 'restore it from the repository, or build it again: npm run policies'
    throw new Error(`The bundle of policies, ${path}, is missing or damaged: ${todo}`, { cause })
  }
}

function answered<T>(ask: () => T): T {
  try {
    return ask()
  } catch (cause) {
    throw new AuthorizationUnavailable(cause)
  }
}

function decided(run: RunEvaluation, query: AnyQuery): Decision {
  const begun = performance.now()
  const { slice } = query
  const input = inputText(policyInput(query))
  const answer = run({
    slice,
    input,
    evaluate: (instance) => readDecision(instance.evaluate('authz/decision', input, slice), query),
  })
  return { ...answer, durationUs: Math.round((performance.now() - begun) * 1000) }
}

// Inputs are large here, and nobody waits for many of them.
function explaining(run: RunEvaluation, query: AnyQuery, policies: readonly ExplainedPolicy[]): Explanation {
  const begun = performance.now()
  const { slice } = query
  const asked = explainInput(query, policies)
  const input = inputText(asked)
  const evaluate = (instance: PolicyInstance) => {
    const result = instance.evaluate('authz/explain', input, slice) as ExplainAnswer | undefined
    const answer = readDecision(result?.decision, query)
    return { answer, policies: explained(result?.policies ?? [], policies, asked.attrs) }
  }
  const { answer, policies: told } = run({ slice, input, evaluate }, true)
  return {
    decision: { ...answer, durationUs: Math.round((performance.now() - begun) * 1000) },
    policies: told,
  }
}
