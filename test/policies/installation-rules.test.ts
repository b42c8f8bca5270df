import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { policiesFolder } from '../../src/policy-engine/evaluate/bundle.ts'
import { goldenCases } from '../../src/policy-engine/evaluate/golden-cases.ts'
import { inputText, instantiatorOf } from '../../src/policy-engine/evaluate/policy-instance.ts'
import {
  checkInstallationRules,
  openInstallationEngine,
} from '../../src/policy-engine/opa/installation-bundle.ts'
import { projectRoot, resolveOpa } from '../../src/policy-engine/opa/opa.ts'
import { rounds } from '../helpers/rounds.ts'
import { startService } from '../helpers/service.ts'

const print = (line: string) => t.comment(line)
const opa = await resolveOpa({ install: process.env.CI === 'true', print }).catch((error: Error) => error)
const skip = opa instanceof Error && opa.message
const options = { opaPath: String(opa), install: false, print }

const page = readFileSync(join(projectRoot, 'docs/how-to/add-rules-of-your-own.md'), 'utf8')
const [rule = '', twin = ''] = [...page.matchAll(/^```rego\n([\s\S]*?)^```/gm)].map(([, text = '']) => text)
const place = t.testdir({ example: { 'no_webhooks.rego': rule, 'no_webhooks_test.rego': twin } })

function folderOf(files: readonly string[]): string {
  const folder = mkdtempSync(join(place, 'rules-'))
  for (const [index, text] of files.entries()) writeFileSync(join(folder, `rule_${index}.rego`), text)
  return folder
}

// Parts of rules that apply always, never, sometimes, to a missing value, or in ways their authors did not mean.
const conditions = [
  'true',
  'false',
  'input.nothing.at.all',
  'input.action == "policy:read"',
  'startswith(input.action, "role:")',
  'input.phase == "route"',
  'input.resource.owner_id == input.subject.id',
  'input.attrs["environment.hour"] >= 0',
  'some role in input.subject.membership.system_roles; data.catalogue.actions[input.action].roles[role]',
  'count({x | some x in input.subject.membership.permissions}) == 0',
  'input.subject.session.token == "otp_pending"',
  'to_number("not a number") == 1',
  '_granted',
]
const outputs = [
  'deny contains "No."',
  'deny contains input.action',
  'deny contains input.subject',
  'deny contains null',
  'deny contains ""',
  'obligations contains {"type": "mask_fields", "properties": {"fields": ["email"]}}',
  'obligations contains {"type": "mask_fields"}',
  'obligations contains {"type": "step_up", "properties": {"max_age": -1}}',
  'obligations contains {"type": "grant", "effect": "allow"}',
  'obligations contains "allow"',
  '_effect := "allow"',
]
const line = fc
  .tuple(fc.constantFrom(...outputs), fc.subarray(conditions, { minLength: 1, maxLength: 3 }))
  .map(([output, body]) => `${output} if {\n\t${body.join('\n\t')}\n}\n`)
const files = fc.array(fc.uniqueArray(line, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 8 })
const helper = 'default _granted := true\n'

t.test(
  'no rule of an installation turns a denial of a golden case into anything else',
  { skip },
  async (t) => {
    const golden = goldenCases(policiesFolder)
    let taken = 0
    await fc.assert(
      fc.asyncProperty(files, async (bodies) => {
        const texts = bodies.map((lines, index) =>
          [`package authz.platform.rule_${index}\n`, helper, ...lines].join('\n'),
        )
        const engine = await openInstallationEngine({ ...options, folder: folderOf(texts) }).catch(String)
        // Two of the generated values for `_effect` are a conflict, which opa reports.
        if (typeof engine === 'string') return /conflict/.test(engine)
        const instance = instantiatorOf(engine.bundle)()
        return golden.every(({ input, slice, effect }) => {
          const answer = instance.evaluate('authz/decision', inputText(input), slice) as { effect: string }
          if (answer.effect !== effect) taken++
          return answer.effect === effect || answer.effect === 'deny'
        })
      }),
      { numRuns: rounds(3, 60), seed: 20_260_101 },
    )
    t.ok(taken > 0, `${taken} answers became denials`)
  },
)

const refused: [name: string, text: string, why: RegExp][] = [
  ['of a package of the service', 'package authz.rbac\n\ngranted := true\n', /package has to be/],
  ['that replaces the decision', 'package authz\n\ndecision := {"effect": "allow"}\n', /package has to be/],
  ['of the collecting package', 'package authz.platform\n\ndenials := []\n', /package has to be/],
  ['that takes the name of its rule', 'package authz.platform.denials\n\n_x := 1\n', /conflict|denials/],
  ['below another rule', 'package authz.platform.a.b\n\n_x := 1\n', /package has to be/],
  ['with a rule that permits', 'package authz.platform.a\n\nallow := true\n', /allow: a rule is deny/],
  ['with a denial that is no set', 'package authz.platform.a\n\ndeny := false\n', /deny is a set/],
  ['with a denial under a key', 'package authz.platform.a\n\ndeny["x"] := false\n', /deny is a set/],
  ['that reads the decision', reading('data.authz.decision.effect == "deny"'), /reads only input/],
  ['that reads policies of tenants', reading('data.slice.policies'), /reads only input/],
  ['that imports the roles', 'package authz.platform.a\n\nimport data.authz.rbac\n', /reads only input/],
  ['that reads all data', reading('some x in data'), /reads only input/],
  ['with a negated call', reading('not startswith(input.subject.id, "a")'), /negated call/],
  ['that asks for a field', reading('input.attrs["resource.name"] == "x"'), /built-in attribute/],
  ['that reads a mistyped attribute', reading('input.attrs["environment.our"] == 1'), /built-in attribute/],
  ['that calls the host', reading('time.now_ns() > 0'), /undefined function time\.now_ns/],
]

function reading(condition: string): string {
  return `package authz.platform.a\n\ndeny contains "No." if ${condition}\n`
}

t.test('what could do more than take away is refused before anything starts', { skip }, async (t) => {
  for (const [name, text, why] of refused)
    await t.rejects(openInstallationEngine({ ...options, folder: folderOf([text]) }), { message: why }, name)
  const folder = folderOf([reading('input.action == "webhook:create"')])
  writeFileSync(join(folder, 'data.json'), '{"authz": {"decision": {"effect": "allow"}}}')
  const { bundle } = await openInstallationEngine({ ...options, folder })
  t.same(Object.keys(bundle.data), ['attributes', 'catalogue', 'rules'], 'data files are not read')
  const late = { ...options, opaPath: '/nowhere/opa', folder }
  await t.rejects(openInstallationEngine(late), { message: /OPA_PATH names/ }, 'without opa nothing starts')
})

t.test('the rules of the guide pass their tests and bind a running service', { skip }, async (t) => {
  const folder = join(place, 'example')
  await checkInstallationRules({ ...options, folder })
  const broken = join(place, 'broken')
  cpSync(folder, broken, { recursive: true })
  writeFileSync(join(broken, 'no_webhooks.rego'), rule.replace('webhook:create', 'webhook:list'))
  await t.rejects(checkInstallationRules({ ...options, folder: broken }), { message: /opa test failed/ })

  const env = { POLICIES_DIR: folder, OPA_PATH: String(opa) }
  const service = await startService(t, { env, workers: false })
  const owner = await service.signUp()
  const denied = await owner.post('/api/v1/webhooks/', { url: 'https://example.com/', event_types: ['*'] })
  t.match(denied, {
    status: 403,
    body: {
      detail: 'Webhooks are switched off here. Ask the platform team.',
      reasons: [{ code: 'platform_rule', layer: 'invariant', rule: 'no_webhooks' }],
    },
  })
  const explained = await owner.get(`/api/v1/decisions/${denied.body.decision_id}/explain/`)
  t.match(explained.body.explanation.join(' '), /Webhooks are switched off here/)
  t.match(await owner.get('/api/v1/users/'), { status: 200, body: { results: [{ email: owner.email }] } })
})

t.test('a rule reads the departments of tenants that have no policies', { skip }, async (t) => {
  const folder = folderOf([
    `package authz.platform.closed

deny contains "Your department is closed." if {
	input.action == "webhook:list"
	count(input.attrs["subject.department_path"]) == 2
}
`,
  ])
  const env = { POLICIES_DIR: folder, OPA_PATH: String(opa) }
  const service = await startService(t, { env, workers: false })
  const owner = await service.signUp()
  const below = `/api/v1/tenants/${owner.tenantId}`
  const top = await owner.post(`${below}/departments/`, { name: 'Top' })
  const part = await owner.post(`${below}/departments/`, { name: 'Part', parent_id: top.body.id })
  t.equal((await owner.get('/api/v1/webhooks/')).status, 200)
  const members = await owner.get(`${below}/members/`)
  const moved = await owner.patch(`${below}/members/${members.body.results[0].id}/`, {
    department_id: part.body.id,
  })
  t.equal(moved.status, 200)
  t.match(await owner.get('/api/v1/webhooks/'), {
    status: 403,
    body: { detail: 'Your department is closed.' },
  })
})
