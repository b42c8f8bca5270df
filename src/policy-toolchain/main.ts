import { flag } from '../cli/options.ts'
import { refuseUsage, scriptArguments } from '../cli/script-options.ts'
import { readConfig } from '../config.ts'
import { onStopSignal, reportAndExit } from '../stop-signal.ts'
import { writeNewRule } from './new-rule.ts'
import { buildPolicies } from './policies.ts'
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
