import { type AccessEngine, openAccessEngine } from '../policy-engine/evaluate/engine.ts'
import type { Config } from '../settings/config.ts'

/**
 * Opens the policies: the committed bundle, or with POLICIES_DIR a bundle that is built now, with the rules of that folder
 * and the pinned `opa`. Throws if they cannot be trusted (see `openAccessEngine`).
 */
export async function openEngine(
  { POLICIES_DIR: folder, OPA_PATH: opaPath }: Pick<Config, 'POLICIES_DIR' | 'OPA_PATH'>,
  print: (line: string) => void = () => undefined,
): Promise<AccessEngine> {
  if (!folder) return openAccessEngine()
  // Only such an installation needs the tools at run time. A process that starts installs nothing.
  const { openInstallationEngine } = await import('../policy-engine/opa/installation-bundle.ts')
  return openInstallationEngine({ folder, ...(opaPath && { opaPath }), install: false, print })
}
