import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { allOfInput, findReads, noSuchAttribute } from '../../src/policy-engine/opa/attribute-reads.ts'
import { resolveOpa } from '../../src/policy-engine/opa/opa.ts'

const print = (line: string) => t.comment(line)
const opa = await resolveOpa({ install: process.env.CI === 'true', print }).catch((error: Error) => error)
const skip = opa instanceof Error && opa.message

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
