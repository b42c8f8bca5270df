import type { StoredModule } from '../../authorization/policies/active-store.ts'
import {
  type CompilerSettings,
  compileModuleText,
  moduleKey,
  moduleTextOf,
} from '../../authorization/policies/modules/compile-module-text.ts'
import { ApiError } from '../../errors.ts'
import { policyInvalid } from '../../request/body/policy-invalid.ts'
import type { Manifest } from './manifest-schema.ts'
import { faultAt, type ManifestFault } from './read-manifest.ts'

/** A compiled module as a manifest stores it: `zipped` in base64. */
export type ManifestModule = Omit<StoredModule, 'zipped'> & { zipped: string }

/** The stored form of a module, and back. */
export const toManifest = ({ zipped, ...module }: StoredModule): ManifestModule => ({
  ...module,
  zipped: zipped.toString('base64'),
})
export const fromManifest = ({ zipped, ...module }: ManifestModule): StoredModule => ({
  ...module,
  zipped: Buffer.from(zipped, 'base64'),
})

/**
 * Compiles the modules of a manifest, one after another; those among `known` are not compiled again. Returns them by the
 * key of their policy, with the faults of the others. Throws 409 `compiler_unavailable`.
 */
export async function compileModules(
  config: CompilerSettings,
  { policies }: Manifest,
  text: string,
  known: readonly ManifestModule[],
): Promise<{ modules: Map<string, StoredModule>; faults: ManifestFault[] }> {
  const modules = new Map<string, StoredModule>()
  const faults: ManifestFault[] = []
  for (const [key, { kind = 'json', ...policy }] of Object.entries(policies)) {
    const pointer = `/policies/${key}`
    try {
      const module = moduleTextOf({ ...policy, kind }, () => text, pointer)
      if (!module) continue
      const before = known.find((one) => one.key === moduleKey(module))
      const compiled = before ? fromManifest(before) : await compileModuleText(config, module, null)
      if ('faults' in compiled) throw policyInvalid(compiled.faults, text, pointer)
      modules.set(key, compiled)
    } catch (error) {
      faults.push(...policyFaults(error, pointer, text))
    }
  }
  return { modules, faults }
}

/** The faults of a policy that is refused with 400 or 422, with their positions in the manifest. Throws any other error. */
export function policyFaults(error: unknown, pointer: string, text: string): ManifestFault[] {
  if (!(error instanceof ApiError) || error.status === 409 || error.status >= 500) throw error
  return error.errors.map(({ field, pointer: own = `${pointer}/${field}`, code, detail }) =>
    faultAt(text, { pointer: own, code, detail }),
  )
}
