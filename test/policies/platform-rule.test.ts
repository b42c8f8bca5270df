import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { projectRoot, resolveOpa, run } from '../../src/policy-toolchain/opa.ts'

// docs/how-to/write-a-platform-rule.md, done on a copy of the project.

const print = (line: string) => t.comment(line)
const opa = await resolveOpa({ install: process.env.CI === 'true', print }).catch((error: Error) => error)
const skip = opa instanceof Error && opa.message

const page = readFileSync(join(projectRoot, 'docs/how-to/write-a-platform-rule.md'), 'utf8')
const [rule = '', ranked = '', sentence = '', golden = '', twins = ''] = [
  ...page.matchAll(/^```(?:rego|ts|json)\n([\s\S]*?)^```/gm),
].map(([, text = '']) => text)

t.test('a platform rule is five files, and each that is forgotten is named', { skip }, async (t) => {
  const copy = t.testdir()
  for (const part of ['src', 'policies', 'package.json', 'tsconfig.json'])
    cpSync(join(projectRoot, part), join(copy, part), { recursive: true })
  symlinkSync(join(projectRoot, 'node_modules'), join(copy, 'node_modules'))
  const path = (file: string) => join(copy, file)
  const change = (file: string, from: string, to: string) => {
    const text = readFileSync(path(file), 'utf8')
    t.ok(text.includes(from), `${file} has the place that the page names`)
    writeFileSync(path(file), text.replace(from, to))
  }
  const build = async () => {
    const command = `cd "$0" && OPA_PATH="$1" exec "$2" src/entry.cjs cli policies:build`
    const { code, stdout, stderr } = await run('sh', ['-c', command, copy, String(opa), process.execPath])
    return { code, said: stdout + stderr }
  }

  writeFileSync(path('policies/authz/invariants/auditor_webhook.rego'), rule)
  const unranked = await build()
  t.equal(unranked.code, 1)
  t.match(unranked.said, /the denial "auditor_webhook" is missing from precedence/)
  t.match(unranked.said, /the denial "auditor_webhook" has no sentence/)

  change('policies/authz/invariants/precedence.rego', '\t"tenant_isolation",\n]', ranked.trimEnd())
  change('src/policy-engine/evaluate/reasons.ts', '} as const', `${sentence}} as const`)
  change('policies/cases/invariants.json', '"invariants": {\n', `"invariants": {\n${golden}`)
  const tests = path('policies/authz/invariants/invariants_test.rego')
  writeFileSync(tests, `${readFileSync(tests, 'utf8')}\n${twins}`)
  const built = await build()
  t.equal(built.code, 0, built.said)

  change(
    'policies/authz/invariants/auditor_webhook.rego',
    'input.action',
    'time.weekday(input.now) == "Sunday"\n\tinput.action',
  )
  t.match(await build(), { code: 1, said: /time\.weekday is not in policies\/capabilities\/platform\.json/ })
})
