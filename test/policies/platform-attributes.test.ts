import { appendFileSync, cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openAccessEngine } from '../../src/policy-engine/evaluate/engine.ts'
import { allOfInput, findReads, noSuchAttribute } from '../../src/policy-engine/opa/attribute-reads.ts'
import { projectRoot, resolveOpa, run } from '../../src/policy-engine/opa/opa.ts'
import { roleQuery } from '../../src/policy-engine/opa/role-table.ts'

const print = (line: string) => t.comment(line)
const opa = await resolveOpa({ install: process.env.CI === 'true', print }).catch((error: Error) => error)
const skip = opa instanceof Error && opa.message

const rule = `
denials contains "tenant_archived" if {
	input.action == "tenant:delete"
	input.attrs["environment.weekday"] == 1
}
`
const twin = `
test_tenant_state_denies_on_mondays if {
	_denied({"action": "tenant:delete", "attrs": {"environment.weekday": 1}}) == {"tenant_archived"}
}
`
const goldenCase = {
  set: {
    action: 'tenant:delete',
    'subject/membership/system_roles': ['owner'],
    attrs: { 'environment.weekday': 1 },
  },
  effect: 'deny',
  codes: ['tenant_archived'],
}

t.test('a platform rule gets the attributes that it reads', { skip }, async (t) => {
  const copy = t.testdir()
  for (const part of ['src', 'tools', 'policies', 'package.json', 'tsconfig.json'])
    cpSync(join(projectRoot, part), join(copy, part), { recursive: true })
  symlinkSync(join(projectRoot, 'node_modules'), join(copy, 'node_modules'))
  const path = (file: string) => join(copy, 'policies', file)
  appendFileSync(path('authz/invariants/tenant_state.rego'), rule)
  appendFileSync(path('authz/invariants/tenant_state_test.rego'), twin)
  const cases = JSON.parse(readFileSync(path('cases/invariants.json'), 'utf8'))
  cases.invariants['on mondays no tenant is deleted'] = goldenCase
  writeFileSync(path('cases/invariants.json'), JSON.stringify(cases))
  const build = () =>
    run('sh', [
      '-c',
      'cd "$0" && exec env OPA_PATH="$1" "$2" src/start/entry.cjs policies',
      copy,
      String(opa),
      process.execPath,
    ])
  t.match(await build(), { code: 0, stdout: /built/ })

  const engine = await openAccessEngine(path('bundle.tar.gz'), path(''))
  const asked = roleQuery('tenant:delete', ['owner'], 'me')
  const effectAt = (now: string) => engine.decide({ ...asked, now: Date.parse(now) }).effect
  t.equal(effectAt('2026-11-23T12:00:00Z'), 'deny', 'on a Monday')
  t.equal(effectAt('2026-11-24T12:00:00Z'), 'allow', 'on a Tuesday')
  const explained = engine.explain({ ...asked, now: Date.parse('2026-11-23T12:00:00Z') }, [])
  t.equal(explained.decision.effect, 'deny', 'the explanation says the same')

  const bytes = readFileSync(path('bundle.tar.gz'))
  appendFileSync(path('authz/invariants/tenant_state.rego'), rule.replace('weekday', 'weekdya'))
  const refused = await build()
  t.not(refused.code, 0)
  t.match(
    refused.stderr + refused.stdout,
    /tenant_state\.rego:\d+ input\.attrs\["…"\] has to name a built-in attribute/,
  )
  t.same(readFileSync(path('bundle.tar.gz')), bytes, 'the bundle stays')
})

const reads: [name: string, condition: string, fault: string][] = [
  ['a misspelt name', 'input.attrs["environment.wekday"] == 1', noSuchAttribute],
  ['an attribute of a tenant', 'input.attrs["subject.clearance"] == 1', noSuchAttribute],
  ['a field of a resource', 'input.attrs["resource.name"] == "x"', noSuchAttribute],
  ['a computed name', 'some name in ["environment.hour"]; input.attrs[name] == 1', noSuchAttribute],
  ['all attributes', 'attrs := input.attrs; attrs["environment.hour"] == 1', noSuchAttribute],
  ['a default', 'object.get(input.attrs, "environment.hour", 0) == 1', noSuchAttribute],
  ['all of the input', 'asked := input; asked.attrs["environment.hour"] == 1', allOfInput],
]

t.test('a rule that reads an attribute in any other way is refused', { skip }, async (t) => {
  const folder = t.testdir()
  for (const [index, [name, condition, fault]] of reads.entries()) {
    const file = join(folder, `rule_${index}.rego`)
    writeFileSync(file, `package authz.invariants\n\ndenials contains "x" if { ${condition} }\n`)
    t.match(await findReads(String(opa), [file]), { findings: [{ file, row: 3, rule: fault }] }, name)
  }
})

t.test('a rule that looks at the resource is named, those of the service are not', { skip }, async (t) => {
  const folder = t.testdir()
  const looking = async (name: string, condition: string) => {
    const file = join(folder, `${name}.rego`)
    writeFileSync(file, `package authz.invariants\n\ndenials contains "x" if { ${condition} }\n`)
    return (await findReads(String(opa), [file])).looking
  }
  t.same(await looking('own_rows', 'input.resource.owner_id == input.subject.id'), ['own_rows'])
  t.same(await looking('rows', 'input.attrs["resource.id"] == "1"'), ['rows'])
  t.same(await looking('whole', 'count(input.resource) == 0'), ['whole'])
  t.same(await looking('kinds', 'input.resource.type == "row"; input.attrs["resource.type"] == "row"'), [])
})
