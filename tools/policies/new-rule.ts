import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { policiesFolder } from '../../src/policy-engine/evaluate/bundle.ts'
import { isReasonCode } from '../../src/policy-engine/evaluate/reasons.ts'
import { projectRoot } from '../../src/policy-engine/opa/opa.ts'

const invariants = `${policiesFolder}authz/invariants/`

/** The name cannot be that of a rule; the message says why. */
export class RuleNameRefused extends Error {}

/**
 * Writes a platform rule with everything that it needs, so that `npm run policies` accepts it at once: the rule, its
 * twin test, its rank, its sentence and a golden case. Returns the changed files, from the project's root. Throws
 * {@link RuleNameRefused}.
 */
export function writeNewRule(name: string): string[] {
  if (!/^[a-z][a-z0-9_]{2,40}$/.test(name))
    throw new RuleNameRefused('A rule has 3 to 41 of a-z, 0-9 and _ as its name, and begins with a letter.')
  if (isReasonCode(name) || existsSync(`${invariants}${name}.rego`))
    throw new RuleNameRefused(`${name} exists already.`)
  writeFileSync(`${invariants}${name}.rego`, rule(name))
  writeFileSync(`${invariants}${name}_test.rego`, twin(name))
  change(`${invariants}precedence.rego`, /^precedence := \[[^\]]*/m, (list) => `${list}\t"${name}",\n`)
  change(
    `${projectRoot}src/policy-engine/evaluate/reasons.ts`,
    /^const reasonSentences = \{[^}]*/m,
    (table) => `${table}  ${name}: 'An auditor cannot do this.',\n`,
  )
  const cases = `${policiesFolder}cases/invariants.json`
  const golden = JSON.parse(readFileSync(cases, 'utf8'))
  golden.invariants[`${name} denies`] = goldenCase(name)
  writeFileSync(cases, `${JSON.stringify(golden, null, 2)}\n`)
  return [
    `policies/authz/invariants/${name}.rego`,
    `policies/authz/invariants/${name}_test.rego`,
    'policies/authz/invariants/precedence.rego',
    'policies/cases/invariants.json',
    'src/policy-engine/evaluate/reasons.ts',
  ]
}

const rule = (name: string) => `package authz.invariants

# Say here why. This example separates duties: an admin who is an auditor, too, creates no webhook.
denials contains "${name}" if {
	input.action == "webhook:create"
	roles := input.subject.membership.system_roles
	"auditor" in roles
	"admin" in roles
}
`

const twin = (name: string) => `package authz.invariants_test

test_${name}_denies if {
	roles := {"system_roles": ["admin", "auditor"]}
	_denied({"subject": {"membership": roles}, "action": "webhook:create"}) == {"${name}"}
}

test_${name}_allows if {
	roles := {"system_roles": ["admin"]}
	_denied({"subject": {"membership": roles}, "action": "webhook:create"}) == set()
}
`

const goldenCase = (name: string) => ({
  set: { action: 'webhook:create', 'subject/membership/system_roles': ['admin', 'auditor'] },
  effect: 'deny',
  codes: [name],
})

function change(path: string, place: RegExp, replace: (found: string) => string): void {
  const text = readFileSync(path, 'utf8')
  const changed = text.replace(place, replace)
  if (changed === text) throw new Error(`${path} has no place for a new rule`)
  writeFileSync(path, changed)
}
