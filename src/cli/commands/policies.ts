import { checkInstallationRules } from '../../policy-engine/opa/installation-bundle.ts'
import { buildPolicies, checkPolicies } from '../../policy-engine/opa/policies.ts'
import { defineCommand } from '../command.ts'

export const policiesBuild = defineCommand({
  name: 'policies:build',
  about: 'Check policies/ and compile them to the committed bundle, with the pinned opa',
  options: {},
  example: '',
  async run({ config, say }) {
    const revision = await buildPolicies({ print: say, opaPath: config.OPA_PATH })
    return { data: { revision }, text: '' }
  },
})

export const policiesCheck = defineCommand({
  name: 'policies:check',
  about:
    'Check format, types, traps, tests and coverage of the policies, and compare a new bundle with the committed one; the rules in POLICIES_DIR, too',
  options: {},
  example: '',
  async run({ config, say }) {
    const options = { print: say, opaPath: config.OPA_PATH }
    await checkPolicies(options)
    const folder = config.POLICIES_DIR
    if (folder) await checkInstallationRules({ ...options, folder })
    return { data: { ok: true }, text: '' }
  },
})
