import { spawn } from 'node:child_process'
import { appendFileSync, cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { openAccessEngine } from '../../src/policy-engine/evaluate/engine.ts'
import { swappableEngine, watchBundle } from '../../src/policy-engine/evaluate/swap-engine.ts'
import { projectRoot, resolveOpa, run } from '../../src/policy-engine/opa/opa.ts'
import { roleQuery } from '../../src/policy-engine/opa/role-table.ts'

// policies/README.md, done on a copy of the project.

const print = (line: string) => t.comment(line)
const opa = await resolveOpa({ install: process.env.CI === 'true', print }).catch((error: Error) => error)
const skip = opa instanceof Error && opa.message

const page = readFileSync(join(projectRoot, 'policies/README.md'), 'utf8')
const [rule = '', twins = ''] = [...page.matchAll(/^```rego\n([\s\S]*?)^```/gm)].map(([, text = '']) => text)

const onMondays = (attribute: string) => `
denials contains "tenant_archived" if {
	input.action == "tenant:delete"
	input.attrs["${attribute}"] == 1
}
`
const mondayTwin = `
test_tenant_state_denies_on_mondays if {
	_denied({"action": "tenant:delete", "attrs": {"environment.weekday": 1}}) == {"tenant_archived"}
}
`
const mondayCase = {
  set: {
    action: 'tenant:delete',
    'subject/membership/system_roles': ['owner'],
    attrs: { 'environment.weekday': 1 },
  },
  effect: 'deny',
  codes: ['tenant_archived'],
}

/** Collects lines; `next` gives the first one from then on that matches. */
function lineQueue() {
  const waiting: { pattern: RegExp; found: (line: string) => void }[] = []
  const take = (line: string) => {
    const at = waiting.findIndex(({ pattern }) => pattern.test(line))
    if (at >= 0) waiting.splice(at, 1)[0]?.found(line)
  }
  const next = (pattern: RegExp) => new Promise<string>((found) => waiting.push({ pattern, found }))
  return { take, next }
}

t.test('from a new rule to the bundle that a running service takes', { skip }, async (t) => {
  const copy = t.testdir()
  for (const part of ['src', 'tools', 'policies', 'package.json', 'tsconfig.json'])
    cpSync(join(projectRoot, part), join(copy, part), { recursive: true })
  // With the compiled code of this checkout, which it finds in its own place.
  for (const part of ['node_modules', '.cache']) symlinkSync(join(projectRoot, part), join(copy, part))
  const path = (file: string) => join(copy, file)
  const bundle = path('policies/bundle.tar.gz')
  const open = () => openAccessEngine(bundle, path('policies/'))

  const service = lineQueue()
  const engine = swappableEngine(await open())
  const first = engine.revision
  t.teardown(watchBundle(engine, { path: bundle, folder: undefined, open, say: service.take }))
  const env = { ...process.env, OPA_PATH: String(opa), NODE_COMPILE_CACHE: '' }
  const watch = spawn(process.execPath, ['src/start/entry.cjs', 'policies', '--watch'], { cwd: copy, env })
  t.teardown(() => watch.kill())
  const build = lineQueue()
  for (const stream of [watch.stdout, watch.stderr]) createInterface(stream).on('line', build.take)
  await build.next(/^policies \w+ built/)
  t.equal(engine.revision, first, 'the same sources give the same bundle')

  const [built, taken] = [build.next(/^policies \w+ built/), service.next(/^policies \w+ in use/)]
  const changed = path('policies/authz/invariants/tenant_state.rego')
  appendFileSync(changed, onMondays('environment.weekday'))
  appendFileSync(path('policies/authz/invariants/tenant_state_test.rego'), mondayTwin)
  const cases = JSON.parse(readFileSync(path('policies/cases/invariants.json'), 'utf8'))
  cases.invariants['on mondays no tenant is deleted'] = mondayCase
  writeFileSync(path('policies/cases/invariants.json'), JSON.stringify(cases))
  await Promise.all([built, taken])
  t.not(engine.revision, first)
  t.equal(engine.decide(roleQuery('role:list', ['admin'], null)).effect, 'allow', 'and it decides')
  const asked = roleQuery('tenant:delete', ['owner'], 'me')
  const monday = { ...asked, now: Date.parse('2026-11-23T12:00:00Z') }
  const tuesday = { ...asked, now: Date.parse('2026-11-24T12:00:00Z') }
  t.equal(engine.decide(monday).effect, 'deny', 'a rule gets the attributes that it reads')
  t.equal(engine.decide(tuesday).effect, 'allow')
  t.equal(engine.explain(monday, []).decision.effect, 'deny', 'the explanation says the same')
  const second = engine.revision
  const bytes = readFileSync(bundle)

  const refused = build.next(/The bundle stays/)
  const sound = readFileSync(changed, 'utf8')
  writeFileSync(changed, sound.replace('input.tenant.status', 'time.weekday(input.now)'))
  t.match(await build.next(/time\.weekday is not in/), /platform\.json/)
  await refused
  t.same(readFileSync(bundle), bytes, 'a broken rule leaves the bundle')
  t.equal(engine.revision, second)

  const [again, kept] = [build.next(/^policies \w+ built/), service.next(/stay in use: This process/)]
  writeFileSync(changed, sound)
  const command = ['src/start/entry.cjs', 'policies', 'new', 'auditor_webhook']
  const begun = await run('sh', ['-c', 'cd "$0" && exec "$@"', copy, process.execPath, ...command])
  t.match(begun, { code: 0, stdout: /auditor_webhook_test\.rego/ })
  t.equal(readFileSync(path('policies/authz/invariants/auditor_webhook.rego'), 'utf8'), rule)
  t.equal(readFileSync(path('policies/authz/invariants/auditor_webhook_test.rego'), 'utf8'), twins)
  await again
  t.match(await kept, /does not know the reason "auditor_webhook".*start it again/)
  t.equal(engine.decide(roleQuery('role:list', ['admin'], null)).effect, 'allow', 'it goes on')

  const third = readFileSync(bundle)
  const faults = [
    /is missing from precedence/,
    /has no sentence/,
    /tenant_state\.rego:\d+ .* has to name a built-in/,
  ]
  const missing = [...faults, /The bundle stays/].map(build.next)
  const without = (file: string, line: RegExp) =>
    writeFileSync(path(file), readFileSync(path(file), 'utf8').replace(line, ''))
  without('policies/authz/invariants/precedence.rego', /\t"auditor_webhook",\n/)
  without('src/policy-engine/evaluate/reasons.ts', / {2}auditor_webhook: .*\n/)
  appendFileSync(changed, onMondays('environment.weekdya'))
  await Promise.all(missing)
  t.same(readFileSync(bundle), third)
})
