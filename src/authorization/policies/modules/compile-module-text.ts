import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { ApiError, invalidField } from '../../../errors.ts'
import { type WorkFor, workBudget } from '../../../limits/work-budget.ts'
import { maxPatternUs, patternFault } from '../../../policy-engine/compile/pattern-cost.ts'
import type { Fault } from '../../../policy-engine/compile/policy-document.ts'
import { compileModule } from '../../../policy-engine/opa/compile-module.ts'
import { opaVersion, pathOf, resolveOpa } from '../../../policy-engine/opa/opa.ts'
import type { FindingRule, ModuleFault } from '../../../policy-engine/opa/tenant-module.ts'
import { policyInvalid } from '../../../request/body/policy-invalid.ts'
import type { Config } from '../../../settings/config.ts'
import { positionAt } from '../../../text/text-position.ts'
import type { StoredModule } from '../active-store.ts'
import { measurePatterns } from '../measure-patterns.ts'
import type { Draft } from '../policy-body.ts'

/** The text of a module with the effect of its policy. */
export interface ModuleText {
  module: string
  effect: FindingRule
}

/**
 * The module of a policy of the kind rego; null for the kind json. Throws 400 for a kind without its module or the other
 * way round, and 422 `policy_invalid` for an effect that modules do not have.
 */
export function moduleTextOf(
  { kind, effect, module }: Pick<Draft, 'kind' | 'effect' | 'module'>,
  text: () => string,
  at: string,
): ModuleText | null {
  if (kind === 'json' && typeof module !== 'string') return null
  if (kind === 'json') throw invalidField('module', 'Only a policy of the kind rego has a module.')
  if (typeof module !== 'string')
    throw invalidField('module', 'A policy of the kind rego has a module.', 'required')
  if (effect === 'require_approval') throw policyInvalid([ofEffect], text(), at)
  return { module, effect }
}

const ofEffect: Fault = { pointer: '/effect', code: 'invalid', detail: 'A module can only allow or deny.' }

// The format of what is compiled and stored. Another one compiles every module again.
const form = 1

/** The key of a compiled module: the same for the same text, effect and compiler. */
export const moduleKey = ({ module, effect }: ModuleText): string =>
  createHash('sha256')
    .update(JSON.stringify([form, opaVersion, effect, module]))
    .digest('hex')

const compress = promisify(gzip)

/**
 * Compiles a module, and measures its patterns. `author` is null for the installation. Returns what is wrong with the
 * text as faults. Throws 409 `compiler_unavailable`, and 503 if it cannot be compiled or measured now.
 */
export async function compileModuleText(
  config: CompilerSettings,
  text: ModuleText,
  author: WorkFor,
): Promise<StoredModule | { faults: Fault[] }> {
  const opa = await compilerOf(config)
  const compiled = await workBudget.inTurn('modules', author, () =>
    compileModule(opa, text.module, text.effect),
  )
  if ('faults' in compiled) return { faults: compiled.faults.map(ofModule) }
  const { attributes, patterns } = compiled.reads
  const faults = await patternFaults(patterns, text.module, author)
  if (faults.length > 0) return { faults }
  return { key: moduleKey(text), attributes, zipped: await compress(compiled.wasm, { level: 9 }) }
}

const ofModule = ({ line, column, detail, code = 'rego' }: ModuleFault): Fault => ({
  pointer: '/module',
  code,
  detail: `Line ${line}, column ${column}: ${detail}`,
  position: { line, column },
})

/** Where the compiler is, and whether the caller can be its operator. */
export type CompilerSettings = Pick<Config, 'OPA_PATH' | 'production'>

let found: { path: string | undefined; opa: Promise<string> } | undefined

/** The compiler; nothing is installed for it. Looks for it once. Throws 409 `compiler_unavailable`. */
async function compilerOf({ OPA_PATH: path, production }: CompilerSettings): Promise<string> {
  if (found?.path !== path || !found) {
    const opa = resolveOpa({ ...(path && { opaPath: path }), install: false, print: () => undefined })
    // It runs without the environment of the service, so without its PATH.
    found = { path, opa: opa.then(pathOf) }
  }
  try {
    return await found.opa
  } catch {
    found = undefined
    const remedy = production
      ? 'Write conditions, or ask its operator for opa.'
      : 'Run npm run policies in its folder, which installs opa, and try again; or write conditions.'
    throw new ApiError(409, 'compiler_unavailable', `This installation has no compiler for Rego. ${remedy}`)
  }
}

async function patternFaults(patterns: readonly string[], module: string, author: WorkFor): Promise<Fault[]> {
  const conditions = { any: patterns.map((value) => ({ operator: 'matches', value })) }
  const cost = await measurePatterns(conditions, author)
  return patterns.flatMap((pattern): Fault[] => {
    const costUs = cost(pattern)
    const why = patternFault(pattern) ?? (costUs === undefined && 'it is not valid RE2')
    const at = { pointer: '/module', position: positionAt(module, placeOf(module, pattern)) }
    if (why) return [{ ...at, code: 'invalid', detail: `The pattern ${pattern}: ${why}.` }]
    const detail = `The pattern ${pattern} takes too long to match.`
    return (costUs ?? 0) > maxPatternUs ? [{ ...at, code: 'too_costly', detail }] : []
  })
}

/** Where a module has a pattern, written as a raw text or with escapes. */
const placeOf = (module: string, pattern: string) =>
  Math.max(module.indexOf(`\`${pattern}\``), module.indexOf(JSON.stringify(pattern)))
