import { parseArgs } from 'node:util'
import { readConfig } from '../config.ts'
import { onStopSignal, reportAndExit } from '../stop-signal.ts'
import { writeNewRule } from './new-rule.ts'
import { buildPolicies } from './policies.ts'
import { watchPolicies } from './watch-policies.ts'

/** `npm run policies`: builds the bundle, builds it after each change (`--watch`), or begins a rule (`new <name>`). */
async function main() {
  const { values, positionals } = parseArgs({
    options: { watch: { type: 'boolean' } },
    allowPositionals: true,
  })
  const [verb, name, ...more] = positionals
  if (verb === 'new' && name !== undefined && more.length === 0) {
    for (const file of writeNewRule(name)) console.log(file)
    console.log('Change the example to your rule, then run: npm run policies')
    return
  }
  if (verb !== undefined) throw new Error('Wrong usage: npm run policies [-- --watch | new <name>]')
  if (!values.watch) {
    await buildPolicies({ print: console.log, opaPath: readConfig(undefined, []).OPA_PATH })
    return
  }
  const end = watchPolicies(console.log)
  onStopSignal(async () => end(), 0)
}

main().catch(reportAndExit)
