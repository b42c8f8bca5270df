import { readInTenant } from '../../../database/executor/read.ts'
import type { Deps } from '../../../deps.ts'
import { ApiError } from '../../../errors.ts'
import { createLruCache } from '../../../policy-engine/lru-cache.ts'
import { policyInvalid } from '../../../request/body/policy-invalid.ts'
import { findModule, type StoredModule } from '../active-store.ts'
import type { Draft } from '../policy-body.ts'
import { compileModuleText, moduleKey, moduleTextOf } from './compile-module-text.ts'

// An author tries a draft several times, and then stores it.
const lately = createLruCache<StoredModule>(8 * 1024 * 1024)

/** Where the text of a policy comes from, for the positions of faults. */
interface Written {
  /** the policy that is changed, whose earlier versions can have the same module */
  policyId: string
  text: () => string
  /** JSON Pointer of the policy in the text */
  at?: string
}

/**
 * The compiled module of a policy of the kind rego; null for the kind json. A module that a version of the policy has had,
 * or that the tenant has tried lately, is not compiled again. Throws 400, 422 `policy_invalid`, 409 `compiler_unavailable` and 503 `overloaded` or `too_costly`.
 */
export async function prepareModule(
  deps: Pick<Deps, 'db' | 'config'>,
  caller: { tenantId: string; userId: string },
  body: Pick<Draft, 'kind' | 'effect' | 'module'>,
  { policyId, text, at = '' }: Written,
): Promise<StoredModule | null> {
  const module = moduleTextOf(body, text, at)
  if (!module) return null
  const { tenantId } = caller
  const key = moduleKey(module)
  const known =
    lately.get(`${tenantId} ${key}`) ??
    (await readInTenant(deps.db, caller, (read) => findModule(read, tenantId, policyId, key)))
  if (known) return known
  if (deps.config.LIMIT_POLICY_MODULES === 0) throw tooManyModules(0)
  const compiled = await compileModuleText(deps.config, module, caller)
  if ('faults' in compiled) throw policyInvalid(compiled.faults, text(), at)
  lately.set(`${tenantId} ${key}`, compiled, compiled.zipped.length)
  return compiled
}

/** 409: the tenant has as many policies of the kind rego as it can have. */
export const tooManyModules = (max: number): ApiError =>
  new ApiError(409, 'limit_reached', `A tenant can have ${max} policies of the kind rego here, no more.`)
