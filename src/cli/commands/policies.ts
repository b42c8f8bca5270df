import { buildPolicies, checkPolicies } from '../../policy-toolchain/policies.ts'
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
    'Check format, types, traps, tests and coverage of the policies, and compare a new bundle with the committed one',
  options: {},
  example: '',
  async run({ config, say }) {
    await checkPolicies({ print: say, opaPath: config.OPA_PATH })
    return { data: { ok: true }, text: '' }
  },
})
