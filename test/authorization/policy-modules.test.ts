import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { resolveOpa } from '../../src/policy-engine/opa/opa.ts'
import { colleague } from '../helpers/colleague.ts'
import { eventsOf, openDatabase } from '../helpers/event-log.ts'
import { type Asked, inTime } from '../helpers/in-time.ts'
import { type Client, startService } from '../helpers/service.ts'

const print = (line: string) => t.comment(line)
const opa = await resolveOpa({ install: process.env.CI === 'true', print }).catch((error: Error) => error)
const skip = opa instanceof Error && opa.message
const policies = '/api/v1/policies/'

const tonnage = `package policy

deny contains "Too heavy." if input.resource.tonnage > 5000

deny contains sentence if {
	object.get(input.resource, "flag", "none") == "pirate"
	sentence := concat(" ", ["Not under the flag of a", input.resource.name])
}
`
const deny = (condition: string) => `package policy\n\ndeny contains "x" if {\n\t${condition}\n}\n`
const base = { kind: 'rego', effect: 'deny', actions: ['ship:steer'] }

const service = await startService(t, { env: skip ? {} : { OPA_PATH: String(opa) }, workers: false })

async function tenantWith(attributes: Record<string, string>): Promise<Client> {
  const owner = await service.signUp()
  for (const [name, data_type] of Object.entries(attributes)) {
    const [category, key] = name.split('.')
    const body = { category, key, data_type, display_name: name }
    t.equal((await owner.post('/api/v1/attribute-definitions/', body)).status, 201, name)
  }
  const allow = { name: 'Steer', effect: 'allow', actions: ['ship:steer'] }
  t.equal((await owner.post(policies, allow)).status, 201)
  return owner
}

const ships = { 'resource.tonnage': 'integer', 'resource.flag': 'string', 'resource.list': 'array' }

const askToSteer = (owner: Client, properties: object) =>
  owner.post('/access/v1/evaluation', {
    subject: { type: 'user', id: owner.id },
    action: { name: 'ship:steer' },
    resource: { type: 'ship', id: '1', properties },
  })

/** The decision of a question whose modules are in time. */
const steer = async (owner: Client, properties: object) =>
  decisionOf(await inTime(() => askToSteer(owner, properties)))

/** The decision of a question whose modules may be late. */
const steerOnce = async (owner: Client, properties: object) => decisionOf(await askToSteer(owner, properties))

function decisionOf({ body, status }: Asked) {
  t.equal(status, 200)
  return {
    allowed: body.decision,
    codes: body.context.reasons.map(({ code }: { code: string }) => code),
    body,
  }
}

t.test('a module reads attributes with capital letters by their exact names', { skip }, async (t) => {
  const owner = await tenantWith({ 'resource.homePort': 'string' })
  const module = deny('input.resource.homePort == "Nassau"')
  t.match(
    await owner.post(policies, { ...base, name: 'Port', module: module.replace('homePort', 'homeport') }),
    { status: 422, body: { errors: [{ code: 'unknown_attribute' }] } },
  )
  t.equal((await owner.post(policies, { ...base, name: 'Port', module })).status, 201)
  t.match(await steer(owner, { homePort: 'Nassau' }), { allowed: false })
  t.match(await steer(owner, { homePort: 'Genoa', homeport: 'Nassau' }), { allowed: true })
})

t.test('a module decides as other policies do', { skip }, async (t) => {
  const owner = await tenantWith(ships)
  const written = await owner.post(policies, { ...base, name: 'Tonnage', module: tonnage })
  t.match(written, {
    status: 201,
    body: { kind: 'rego', module: tonnage, conditions: null, module_off_at: null },
  })
  const { id } = written.body
  const { results } = (await owner.get('/api/v1/audit-log/?action=policy:create')).body
  t.match(results[0].changes.module, { after: { bytes: Buffer.byteLength(tonnage) } }, 'a digest of the text')
  t.match(await steer(owner, { tonnage: 100, name: 'x' }), { allowed: true })
  const denied = await steer(owner, { tonnage: 6000, name: 'x' })
  t.match(denied, { allowed: false, codes: ['policy_deny'] })
  t.match(await steer(owner, { tonnage: 1, flag: 'pirate', name: 'queen' }), { allowed: false })
  const missing = await steer(owner, { name: 'x' })
  t.match(missing, { allowed: false, codes: ['policy_deny'] }, 'a missing value never permits')
  t.same(missing.body.context.missing_attributes.includes('resource.tonnage'), true)

  const says = 'The module of "Tonnage" says: Too heavy.'
  const explain = () => owner.get(`/api/v1/decisions/${denied.body.context.id}/explain/`)
  const isSilent = ({ body }: Asked) => !body.explanation.includes(says)
  t.notOk(isSilent(await inTime(explain, isSilent)))
  const resource = { type: 'ship', properties: { tonnage: 1, flag: 'pirate', name: 'queen' } }
  const tested = await inTime(() => owner.post(`${policies}${id}/test/`, { resource }))
  t.match(tested.body, {
    effect: 'deny',
    applies: true,
    messages: ['Not under the flag of a queen'],
    trace: null,
  })
  const draft = { name: 'Lighter', ...base, module: tonnage.replace('5000', '50') }
  const heavier = { ...draft, module: tonnage.replace('5000', '9000') }
  const isLate = ({ body }: Asked) => body.counts.deny_to_allow < 1 || body.not_replayable > 0
  const preview = await inTime(() => owner.post(`${policies}${id}/preview/`, { draft: heavier }), isLate)
  t.match(preview, { status: 200, body: { not_replayable: 0 } })
  t.notOk(isLate(preview))

  const changed = await owner.patch(`${policies}${id}/`, { module: draft.module })
  t.match(changed, { status: 200, body: { version: 2 } })
  t.match(await steer(owner, { tonnage: 100, name: 'x' }), { allowed: false })
  t.match(await owner.post(`${policies}${id}/rollback/`, { version: 1 }), {
    status: 200,
    body: { module: tonnage },
  })
  t.match(await steer(owner, { tonnage: 100, name: 'x' }), { allowed: true })
  const versions = await owner.get(`${policies}${id}/versions/`)
  t.same(
    versions.body.results.map(({ kind, module }: Record<string, string>) => [kind, module]),
    [tonnage, draft.module, tonnage].map((text) => ['rego', text]),
  )
  t.match(await owner.patch(`${policies}${id}/`, { kind: 'json' }), { status: 400 })
  t.match(await owner.delete('/api/v1/attribute-definitions/x/'), { status: 404 })
})

t.test('an allow that a module finds permits, and its shadow only records', { skip }, async (t) => {
  const owner = await tenantWith(ships)
  const module = 'package policy\n\nallow contains "Small." if input.resource.tonnage < 10\n'
  const allow = { ...base, effect: 'allow', actions: ['ship:sink'], name: 'Sink', module }
  const { body } = await owner.post(policies, allow)
  const sink = (tonnage?: number) =>
    inTime(() =>
      owner.post('/access/v1/evaluation', {
        subject: { type: 'captain', id: 'ahab' },
        action: { name: 'ship:sink' },
        resource: { type: 'ship', id: '1', properties: { tonnage } },
      }),
    )
  // No role of a captain permits anything.
  t.match((await sink(5)).body, { decision: true })
  t.match((await sink(50)).body, { decision: false })
  t.match((await sink()).body, { decision: false })
  t.equal((await owner.patch(`${policies}${body.id}/`, { mode: 'shadow' })).status, 200)
  const sinkInShadow = async () => {
    t.match((await sink(5)).body, { decision: false })
    await service.deps.shadowCounts.flush()
    return owner.get(`${policies}${body.id}/stats/`)
  }
  const isCounted = (answer: Asked) => JSON.stringify(answer.body).includes('"would_allow":1')
  const stats = await inTime(sinkInShadow, (answer) => !isCounted(answer))
  t.ok(isCounted(stats))
})

t.test('what is no module of a sandbox is refused with its place', { skip }, async (t) => {
  const owner = await tenantWith(ships)
  const refused: [module: string, detail: RegExp, line?: number, column?: number][] = [
    [deny('data.policies.x'), /Line 4, column 2: A module reads no data/, 4, 2],
    [deny('some x in data; x'), /reads no data/],
    [deny('walk(input, [_, v]); v == 1'), /Name the attribute in full/],
    [deny('some key in ["a"]; input.resource[key] == 1'), /Name the attribute in full/],
    [deny('input.resource.tonnage == 1 with input.resource.tonnage as 1'), /does not use "with"/],
    [`package policy\n\nimport data.authz\n\n${deny('true').slice(16)}`, /imports nothing/],
    [deny('true').replace('package policy', 'package authz.rbac'), /The package of a module is policy/],
    [
      deny('http.send({"method": "get", "url": "http://localhost"}).status_code == 200'),
      /undefined function/,
    ],
    [deny('time.now_ns() > 0'), /undefined function time\.now_ns/],
    [deny('opa.runtime().env.SECRET_KEYS == "x"'), /undefined function opa\.runtime/],
    [deny('some x in numbers.range(1, 1000000000); x == 5'), /undefined function numbers\.range/],
    [deny('regex.match(input.resource.flag, "x")'), /Write the pattern of regex\.match as a text/],
    [deny('regex.match(`(?i)\\pL{300}`, input.resource.flag)'), /takes too long to match/, 4, 14],
    [
      deny('# input.resource.unknown\n\tinput.resource.unknown == 1'),
      /has no attribute resource\.unknown/,
      5,
      2,
    ],
    [deny('object.get(input.resource, "a(b", 1) == 1'), /has no attribute resource\.a\(b/, 4, 29],
    ['package policy\n\nallow contains "x" if true\n', /one effect, here deny/],
    ['package policy\n\ndeny := false\n', /deny is a set/],
    ['package policy\n\n_x := 1\n', /has the rule "deny contains/],
    [deny('r').concat('\nr if s\n\ns if r\n'), /recursive/],
    [deny(`x := ${'['.repeat(40)}1${']'.repeat(40)}; x`), /nested 10 deep/],
    [`package policy\n#${'x'.repeat(64 * 1024)}`, /at most 64 KiB/],
    ['package policy\n\0', /NUL/],
    [
      `# METADATA\n# scope: package\n# schemas:\n#   - input: {"$ref": "file:///etc/passwd"}\n${deny('true')}`,
      /has no annotations/,
    ],
    ['}{', /unexpected/],
    ['', /empty module/],
  ]
  for (const [module, detail, line, column] of refused) {
    const { status, body } = await owner.post(policies, { ...base, name: 'x', module })
    const is = module.includes('\0') ? 400 : 422
    t.equal(status, is, `${detail}: ${body.detail}`)
    if (is === 422) t.match(body, { errors: [{ pointer: '/module', detail, ...(line && { line, column }) }] })
  }
  const gate = { ...base, effect: 'require_approval', name: 'x', module: tonnage }
  t.match(await owner.post(policies, gate), { status: 422, body: { errors: [{ pointer: '/effect' }] } })
  const both = {
    ...base,
    name: 'x',
    module: tonnage,
    conditions: { attribute: 'subject.id', operator: 'exists' },
  }
  t.match(await owner.post(policies, both), { status: 422, body: { errors: [{ pointer: '/conditions' }] } })
  t.match(await owner.post(policies, { ...base, name: 'x' }), {
    status: 400,
    body: { errors: [{ field: 'module' }] },
  })
  t.match(await owner.post(policies, { ...base, kind: 'json', name: 'x', module: tonnage }), { status: 400 })
})

const bomb = deny(
  [...'abcdef']
    .map((name) => `some ${name} in input.resource.list`)
    .join('\n\t')
    .concat('\n\ta + b + c + d + e + f == -1'),
)

/** Asks until the module is switched off, or `tries` times, as each of the members in turn. */
async function loopUntilOff(
  [owner, ...others]: readonly [Client, ...Client[]],
  id: string,
  loop: (asker: Client) => Promise<Asked>,
  tries: number,
) {
  const askers = [owner, ...others]
  for (let n = 0; n < tries; n++) {
    const asker = askers[n % askers.length] as Client
    t.match(decisionOf(await loop(asker)), { allowed: false, codes: ['policy_timeout'] })
    const { body } = await owner.get(`${policies}${id}/`)
    if (body.module_off_at !== null) return true
    await sleep(20)
  }
  return false
}

t.test(
  'one person who makes a module loop is denied in all tenants, and no one else is',
  { skip },
  async (t) => {
    const owner = await tenantWith(ships)
    const other = await colleague(service, owner)
    const neighbour = await tenantWith(ships)
    t.equal((await neighbour.post(policies, { ...base, name: 'Tonnage', module: tonnage })).status, 201)
    const added = { user_id: owner.id, roles: ['member'] }
    t.match(await neighbour.post(`/api/v1/tenants/${neighbour.tenantId}/members/`, added), { status: 201 })
    const elsewhere = await service.logIn(owner)
    await elsewhere.switchTo(neighbour.tenantId)
    const { body } = await owner.post(policies, { ...base, name: 'Bomb', module: bomb })
    const loop = () => askToSteer(owner, { list: numbers(100) })
    t.notOk(await loopUntilOff([owner], body.id, loop, 50), 'their questions switch nothing off')
    const late = { allowed: false, codes: ['policy_timeout'] }
    t.match(await steerOnce(owner, { list: [1] }), late)
    t.match(await steerOnce(elsewhere, { tonnage: 1, name: 'x' }), late, 'also in another tenant')
    t.match(await steer(other, { list: [1] }), { allowed: true })
    t.match(await steer(neighbour, { tonnage: 1, name: 'x' }), { allowed: true })
  },
)

t.test('a module that loops for three people is switched off with an event', { skip }, async (t) => {
  const owner = await tenantWith(ships)
  const other = await colleague(service, owner, 'admin')
  const third = await colleague(service, owner)
  const { body } = await owner.post(policies, { ...base, name: 'Bomb', module: bomb })
  const registered = { attributes: { list: numbers(100) } }
  t.match(await owner.put('/api/v1/resources/ship/1/', registered), { status: 201 })
  const loop = (asker: Client) => askToSteer(asker, {})
  t.notOk(await loopUntilOff([owner], body.id, loop, 50), 'not for one, though they wrote the data')
  t.ok(await loopUntilOff([owner, other, third], body.id, loop, 1_000))
  t.match(
    decisionOf(await askToSteer(other, {})),
    { allowed: false, codes: ['policy_timeout'] },
    'it fails closed',
  )
  const events = await eventsOf(await openDatabase(t, service), owner.tenantId)
  const switched = events.filter(({ type }) => type === 'authorization.policy_switched_off')
  t.match(switched, [{ subject: body.id, actor_id: null, data: { policy_id: body.id, version: 1 } }])
  t.match(await other.patch(`${policies}${body.id}/`, { name: 'Again' }), { body: { module_off_at: null } })
  // The modules of the tenant pause for a minute, but not those that are tried.
  const tried = { resource: { type: 'ship', id: '2', properties: { list: [1] } } }
  const trial = await inTime(() => other.post(`${policies}${body.id}/test/`, tried))
  t.match(trial, { body: { effect: 'allow' } }, 'it runs')
})

const numbers = (length: number) => Array.from({ length }, (_each, index) => index)

t.test('a draft that is killed takes nothing from the modules in force', { skip }, async (t) => {
  const owner = await tenantWith(ships)
  const { body } = await owner.post(policies, { ...base, name: 'Tonnage', module: tonnage })
  const draft = { ...base, name: 'Bomb', module: bomb }
  const properties = { list: numbers(100), tonnage: 1, name: 'x' }
  const input = { resource: { type: 'ship', id: '1', properties } }
  const inactive = await owner.post(policies, { ...draft, is_active: false })
  const killed = { status: 200, body: { effect: 'deny', reasons: [{ code: 'policy_timeout' }] } }
  for (const [path, asked] of [
    [`${policies}test-draft/`, { draft, ...input }],
    [`${policies}${inactive.body.id}/test/`, input],
  ] as const) {
    t.match(await owner.post(path, asked), killed)
    t.match(await steer(owner, { tonnage: 1, name: 'x' }), { allowed: true }, 'the module in force goes on')
    await sleep(101)
  }
  t.equal((await owner.get(`${policies}${body.id}/`)).body.module_off_at, null)
})

t.test('a large preview runs the module of a draft in its thread', { skip }, async (t) => {
  const owner = await tenantWith(ships)
  const { id } = (await owner.post(policies, { ...base, name: 'Tonnage', module: tonnage })).body
  const evaluations = numbers(201).map((index) => ({
    resource: { type: 'ship', id: '1', properties: { tonnage: 5001 + index, name: 'x' } },
  }))
  const question = { subject: { type: 'captain', id: 'ahab' }, action: { name: 'ship:steer' }, evaluations }
  const isBusy = ({ status }: Asked) => status === 503
  const { body } = await inTime(() => owner.post('/access/v1/evaluations', question), isBusy)
  t.notOk(body.evaluations.some(({ decision }: { decision: boolean }) => decision))
  const draft = { ...base, name: 'Heavier', module: tonnage.replace('5000', '5150') }
  const isLate = (answer: Asked) => answer.body.counts.deny_to_allow < 150
  const preview = await inTime(() => owner.post(`${policies}${id}/preview/`, { draft }), isLate)
  t.match(preview, { status: 200, body: { counts: { deny_to_allow: 150, allow_to_deny: 0 } } })
})

t.test('a question has eight modules at most', { skip }, async (t) => {
  const owner = await tenantWith(ships)
  const write = (index: number) =>
    owner.post(policies, { ...base, name: `Tonnage ${index}`, module: tonnage })
  for (const index of numbers(8)) t.equal((await write(index)).status, 201)
  t.match(await write(9), { status: 422, body: { code: 'policy_invalid', errors: [{ code: 'too_costly' }] } })
  t.match(await steer(owner, { tonnage: 6000, name: 'x' }), { codes: numbers(8).map(() => 'policy_deny') })
})

t.test('the modules of one question have a deadline together', { skip }, async (t) => {
  const owner = await tenantWith(ships)
  const slow = deny(
    ['a', 'b', 'c']
      .map((name) => `some ${name} in input.resource.list`)
      .join('\n\t')
      .concat('\n\ta + b + c == -1'),
  )
  const ids: string[] = []
  for (const index of numbers(3)) {
    const module = slow.replace('"x"', `"${index}"`)
    const { body, status } = await owner.post(policies, { ...base, name: `Slow ${index}`, module })
    t.equal(status, 201)
    ids.push(body.id)
  }
  let length = 8
  for (; length < 100; length += 2) {
    const { allowed, codes } = await steerOnce(owner, { list: numbers(length) })
    if (allowed) continue
    t.match(codes, ['policy_timeout'])
    break
  }
  // Each module of a question waits anew for a busy machine, so all together are late more often.
  const again = await inTime(() => askToSteer(owner, { list: [1] }), undefined, 100)
  t.match(decisionOf(again), { allowed: true }, 'they do not pause for a minute')
  for (const id of ids.slice(1))
    t.equal((await owner.patch(`${policies}${id}/`, { is_active: false })).status, 200)
  const alone = await steer(owner, { list: numbers(length) })
  t.match(alone, { allowed: true }, 'one alone is fast enough')
})

t.test(
  'a tenant has a number of modules, and without a compiler there are no new ones',
  { skip },
  async (t) => {
    const env = {
      OPA_PATH: String(opa),
      LIMIT_POLICY_MODULES: '1',
      SECRET_KEYS: randomBytes(32).toString('base64url'),
    }
    const limited = await startService(t, { env, workers: false })
    const owner = await limited.signUp()
    const module = deny('input.subject.acr == "aal1"')
    const { status, body } = await owner.post(policies, { ...base, name: 'x', module })
    t.equal(status, 201)
    t.match(await owner.post(policies, { ...base, name: 'y', module }), {
      status: 409,
      body: { code: 'limit_reached', detail: /can have 1 policies of the kind rego/ },
    })
    t.equal((await owner.get(policies)).body.results.length, 1)

    // An operator lowers the limit below what the tenant has.
    const { api, system, worker } = limited.databases
    const lowered = await startService(t, {
      env: {
        ...env,
        LIMIT_POLICY_MODULES: '0',
        DATABASE_API_URL: api,
        DATABASE_SYSTEM_URL: system,
        DATABASE_WORKER_URL: worker,
      },
      workers: false,
    })
    const later = await lowered.logIn(owner)
    const path = `${policies}${body.id}/`
    t.match(await later.patch(path, { is_active: false }), { status: 200, body: { is_active: false } })
    t.match(await later.post(`${path}rollback/`, { version: 1 }), { status: 200, body: { is_active: true } })
    t.equal((await later.post(`${path}test/`, {})).status, 200)
    const refused = { status: 409, body: { code: 'limit_reached' } }
    t.match(await later.patch(path, { module: deny('input.subject.acr == "aal2"') }), refused)
    t.match(await later.post(policies, { ...base, name: 'y', module }), refused)
    t.equal((await later.delete(path)).status, 204)
  },
)

t.test('without a compiler nothing is compiled', { skip }, async (t) => {
  const env = { OPA_PATH: '/nowhere/opa' }
  const without = await startService(t, { env, workers: false })
  const owner = await without.signUp()
  const module = deny('input.subject.acr == "aal1"')
  const refused = await owner.post(policies, { ...base, name: 'x', module })
  t.match(refused, { status: 409, body: { code: 'compiler_unavailable', detail: /Run npm run policies/ } })
})
