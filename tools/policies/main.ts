import { flag } from '../../src/cli/options.ts'
import { refuseUsage, scriptArguments } from '../../src/cli/script-options.ts'
import { buildPolicies } from '../../src/policy-engine/opa/policies.ts'
import { readConfig } from '../../src/settings/config.ts'
import { onStopSignal, reportAndExit } from '../../src/start/stop-signal.ts'
import { writeNewRule } from './new-rule.ts'
import { watchPolicies } from './watch-policies.ts'

/** `npm run policies`: builds the bundle, builds it after each change (`--watch`), or begins a rule (`new <name>`). */
async function main() {
  const { options, words } = scriptArguments('policies', { watch: flag('Again after each change') })
  const [verb, name, ...more] = words
  if (verb === 'new' && name !== undefined && more.length === 0 && !options.watch) {
    for (const file of writeNewRule(name)) console.log(file)
    console.log('Change the example to your rule, then run: npm run policies')
    return
  }
  if (verb !== undefined) refuseUsage('policies', 'Give --watch, or new and one name.')
  if (!options.watch) {
    await buildPolicies({ print: console.log, opaPath: readConfig(undefined, []).OPA_PATH })
    return
  }
  const end = watchPolicies(console.log)
  onStopSignal(async () => end(), 0)
}

main().catch(reportAndExit)
