import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Config } from '../../config.ts'
import type { Deps } from '../../deps.ts'
import { readInTenant } from '../../platform/db/read.ts'
import { ApiError, invalidField } from '../../platform/errors.ts'
import { createKeyedSemaphore } from '../../platform/keyed-semaphore.ts'
import { patternBudgetUs, patternFault } from '../../policy-engine/compile/pattern-cost.ts'
import type { Fault } from '../../policy-engine/compile/policy-document.ts'
import { compileModule } from '../../policy-toolchain/compile-module.ts'
import { opaVersion, resolveOpa } from '../../policy-toolchain/opa.ts'
import type { FindingRule, ModuleFault } from '../../policy-toolchain/tenant-module.ts'
import { policyInvalid } from './compile-body.ts'
import { measurePatterns } from './measure-patterns.ts'
import { findModule, type StoredModule } from './module-store.ts'
import type { Draft } from './policy-body.ts'

const compress = promisify(gzip)

// A compilation can take seconds of a CPU: one at a time in a process, and one of a tenant among those that wait.
const perTenant = createKeyedSemaphore({ maxConcurrent: 1, maxWaiting: 3, maxWaitMs: 30_000 })
const oneAtATime = createKeyedSemaphore({ maxConcurrent: 1, maxWaiting: 20, maxWaitMs: 20_000 })

/** Where the text of a policy comes from, for the positions of faults. */
interface Written {
  /** the policy that is changed, whose earlier versions can have the same module */
  policyId: string
  text: () => string
  /** JSON Pointer of the policy in the text */
  at?: string
}

/**
 * The compiled module of a policy of the kind rego; null for the kind json. A module that a version of the policy has had
 * is not compiled again. Throws 400, 422 `policy_invalid`, 409 `compiler_unavailable` and 503 `overloaded`.
 */
export async function prepareModule(
  deps: Pick<Deps, 'db' | 'config'>,
  caller: { tenantId: string; userId: string },
  { kind, effect, module }: Pick<Draft, 'kind' | 'effect' | 'module'>,
  { policyId, text, at = '' }: Written,
): Promise<StoredModule | null> {
  if (kind === 'json' && typeof module !== 'string') return null
  if (kind === 'json') throw invalidField('module', 'Only a policy of the kind rego has a module.')
  if (typeof module !== 'string')
    throw invalidField('module', 'A policy of the kind rego has a module.', 'required')
  if (deps.config.LIMIT_POLICY_MODULES === 0) throw tooManyModules(0)
  if (effect === 'require_approval') throw policyInvalid([ofEffect], text(), at)
  const key = keyOf(module, effect)
  const { tenantId } = caller
  const known = await readInTenant(deps.db, caller, (read) => findModule(read, tenantId, policyId, key))
  if (known) return known
  const opa = await compilerOf(deps.config)
  const compiled = await perTenant(tenantId, () =>
    oneAtATime('modules', () => compileModule(opa, module, effect)),
  )
  if ('faults' in compiled) throw policyInvalid(compiled.faults.map(ofModule), text(), at)
  const costly = await patternFaults(compiled.reads.patterns)
  if (costly.length > 0) throw policyInvalid(costly, text(), at)
  return { key, attributes: compiled.reads.attributes, zipped: await compress(compiled.wasm, { level: 9 }) }
}

/** 409: the tenant has as many policies of the kind rego as it can have. */
export const tooManyModules = (max: number): ApiError =>
  new ApiError(409, 'limit_reached', `A tenant can have ${max} policies of the kind rego here, no more.`)

const ofEffect: Fault = { pointer: '/effect', code: 'invalid', detail: 'A module can only allow or deny.' }

const ofModule = ({ line, column, detail }: ModuleFault): Fault => ({
  pointer: '/module',
  code: 'rego',
  detail: `Line ${line}, column ${column}: ${detail}`,
})

// The format of what is compiled and stored. Another one compiles every module again.
const form = 1

const keyOf = (module: string, effect: FindingRule): string =>
  createHash('sha256')
    .update(JSON.stringify([form, opaVersion, effect, module]))
    .digest('hex')

let found: { path: string | undefined; opa: Promise<string> } | undefined

/** The compiler; nothing is installed for it. Looks for it once. Throws 409 `compiler_unavailable`. */
async function compilerOf({ OPA_PATH: path }: Pick<Config, 'OPA_PATH'>): Promise<string> {
  if (found?.path !== path || !found) {
    const opa = resolveOpa({ ...(path && { opaPath: path }), install: false, print: () => undefined })
    found = { path, opa }
  }
  try {
    return await found.opa
  } catch {
    found = undefined
    const why = 'This installation has no compiler for Rego. Write conditions, or ask its operator for opa.'
    throw new ApiError(409, 'compiler_unavailable', why)
  }
}

async function patternFaults(patterns: readonly string[]): Promise<Fault[]> {
  const cost = await measurePatterns({ any: patterns.map((value) => ({ operator: 'matches', value })) })
  return patterns.flatMap((pattern): Fault[] => {
    const costUs = cost(pattern)
    const why = patternFault(pattern) ?? (costUs === undefined && 'it is not valid RE2')
    if (why) return [{ pointer: '/module', code: 'invalid', detail: `The pattern ${pattern}: ${why}.` }]
    const detail = `The pattern ${pattern} takes too long to match.`
    return (costUs ?? 0) > patternBudgetUs ? [{ pointer: '/module', code: 'too_costly', detail }] : []
  })
}
