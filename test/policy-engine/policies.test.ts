import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { DataType } from '../../src/policy-engine/compile/conditions.ts'
import { buildSlice, concerns, emptySlice } from '../../src/policy-engine/compile/slice.ts'
import { sizeInSlice, sliceFault, sumOfSizes } from '../../src/policy-engine/compile/slice-size.ts'
import { attributesOf } from '../../src/policy-engine/evaluate/attributes.ts'
import { openAccessEngine } from '../../src/policy-engine/evaluate/engine.ts'
import { explanationSentences } from '../../src/policy-engine/evaluate/explain.ts'
import { built, department, now, person, question, type Written } from '../policies/stage.ts'

const engine = await openAccessEngine()
const exists = (attribute: string) => ({ attribute, operator: 'exists' })

function attrs(
  types: Record<string, DataType>,
  sent = {},
  changes: (asked: ReturnType<typeof question>) => void = () => {},
) {
  const names = Object.keys(types)
  const asked = question(built([{ effect: 'deny', conditions: { all: names.map(exists) } }], types), sent)
  changes(asked)
  return attributesOf(asked)
}

t.test(
  'built-in attributes have the values of the service, times in ms and addresses in canonical spelling',
  async (t) => {
    const names = [
      'subject.id',
      'subject.email',
      'subject.email_verified',
      'subject.roles',
      'subject.department_id',
    ]
    const more = [
      'subject.membership_status',
      'resource.type',
      'resource.id',
      'action.name',
      'environment.user_agent',
    ]
    const times = [
      'environment.time',
      'environment.hour',
      'environment.weekday',
      'environment.ip',
      'subject.joined_at',
    ]
    const conditions = {
      all: [...names, ...more, ...times, 'subject.acr', 'subject.auth_age', 'resource.owner_id'].map(exists),
    }
    t.strictSame(attributesOf(question(built([{ effect: 'deny', conditions }]))), {
      'subject.id': person,
      'subject.email': 'ann@example.com',
      'subject.email_verified': true,
      'subject.roles': [],
      'subject.department_id': department,
      'subject.membership_status': 'active',
      'resource.type': 'doc',
      'resource.id': 'd1',
      'action.name': 'doc:read',
      'environment.user_agent': 'curl',
      'environment.time': now,
      'environment.hour': 10,
      'environment.weekday': 1,
      'environment.ip': '10.1.2.3',
      'subject.joined_at': now - 86_400_000,
    })
  },
)

t.test('values that an application sends never replace those of the service', async (t) => {
  const sent = {
    subject: { id: 'other', roles: ['owner'], level: 9, grade: 1, acr: 'aal2', department_id: 'x' },
    resource: { id: 'other', owner_id: person, status: 'open' },
    environment: { ip: '192.0.2.1', hour: 3 },
    action: { name: 'other' },
  }
  const types = { 'subject.level': 'integer', 'subject.grade': 'integer' } as const
  const names = [
    'subject.id',
    'subject.roles',
    'subject.acr',
    'resource.id',
    'resource.owner_id',
    'resource.status',
  ]
  const all = [...names, 'environment.ip', 'environment.hour', 'action.name', ...Object.keys(types)]
  const asked = question(built([{ effect: 'deny', conditions: { all: all.map(exists) } }], types), sent)
  asked.subject.membership!.attributes = { level: 2 }
  t.strictSame(attributesOf(asked), {
    'subject.id': person,
    'subject.roles': [],
    'resource.id': 'd1',
    'resource.owner_id': person,
    'resource.status': 'open',
    'environment.ip': '10.1.2.3',
    'environment.hour': 10,
    'action.name': 'doc:read',
    'subject.level': 2,
    'subject.grade': 1,
  })
})

t.test('a value of another type is null, which proves nothing', async (t) => {
  const types = {
    'subject.n': 'number',
    'subject.s': 'string',
    'subject.a': 'array',
    'subject.i': 'ip',
  } as const
  const given = (n: unknown, s: unknown, a: unknown, i: unknown) => attrs(types, { subject: { n, s, a, i } })
  const nothing = { 'subject.n': null, 'subject.s': null, 'subject.a': null, 'subject.i': null }
  t.strictSame(given('1', 1, 'a', '10.0.0.1/8'), nothing)
  t.strictSame(given(Number.NaN, '\ud800', [[1]], '010.0.0.1'), nothing)
  t.strictSame(given({}, 'x'.repeat(1025), Array(129).fill(1), 'fe80::1%eth0'), nothing)
  t.strictSame(given(null, undefined, null, null), {})
  t.strictSame(
    attrs({ 'subject.constructor': 'string', 'subject.toString': 'string' }),
    {},
    'inherited properties are not read',
  )
})

t.test('a member without a field proves nothing by not_exists of another type', async (t) => {
  const policy: Written = {
    effect: 'allow',
    conditions: { attribute: 'subject.blocked', operator: 'not_exists' },
  }
  const effect = (blocked: unknown) =>
    engine.decide(question(built([policy], { 'subject.blocked': 'boolean' }), { subject: { blocked } }))
      .effect
  t.equal(effect(undefined), 'allow')
  t.equal(effect(true), 'deny')
  t.equal(effect('yes'), 'deny')
})

t.test('a policy applies only in its period of validity', async (t) => {
  const at = (time: number, effect: 'allow' | 'deny') => {
    const policies = built([{ effect: 'allow' }, { effect, valid_from: now, valid_until: now + 1000 }])
    const asked = question(effect === 'allow' ? policies.slice(1) : policies)
    return engine.decide({ ...asked, now: time }).effect
  }
  for (const [time, inside] of [
    [now - 1, false],
    [now, true],
    [now + 999, true],
    [now + 1000, false],
  ] as const) {
    t.equal(at(time, 'allow'), inside ? 'allow' : 'deny')
    t.equal(at(time, 'deny'), inside ? 'deny' : 'allow')
  }
})

t.test('a policy about several principals of the subject is reported once', async (t) => {
  const policies = built([
    { effect: 'deny', subjects: { roles: ['reader'], departments: [department], users: [person] } },
  ])
  const { effect, matched, reasons } = engine.decide(question(policies))
  t.equal(effect, 'deny')
  t.equal(matched.length, 1)
  t.strictSame(reasons, [{ code: 'policy_deny', layer: 'policy', policy_id: 'p0' }])
})

t.test('reasons and matches are ordered by priority', async (t) => {
  const [low, high] = built([{ effect: 'deny' }, { effect: 'deny' }])
  const { matched } = engine.decide(question([low!, { ...high!, priority: 5 }]))
  t.strictSame(
    matched.map(({ policy_id }) => policy_id),
    ['p1', 'p0'],
  )
})

t.test('a slice of another tenant denies, even for an owner', async (t) => {
  const asked = question(built([{ effect: 'allow' }]))
  const { effect, reasons } = engine.decide({
    ...asked,
    slice: buildSlice('other', 1, built([{ effect: 'allow' }])),
  })
  t.equal(effect, 'deny')
  t.equal(reasons[0]?.code, 'foreign_slice')
})

t.test('tenants without policies share one slice, which policies cannot enter', async (t) => {
  const asked = question(built([{ effect: 'allow' }]))
  const slice = emptySlice('tenant', 1)
  t.equal(slice.text, emptySlice('other', 2).text)
  t.notMatch(engine.decide({ ...asked, slice }).reasons, [{ code: 'foreign_slice' }])
  const text = asked.slice.text.replace('"tenant_id":"tenant"', '"tenant_id":null')
  const { effect, reasons } = engine.decide({ ...asked, slice: { ...asked.slice, text } })
  t.equal(effect, 'deny')
  t.equal(reasons[0]?.code, 'foreign_slice')
})

t.test('thousands of alternating slices all apply, also after the instance was replaced', async (t) => {
  const [allow, deny] = built([{ effect: 'allow' }, { effect: 'deny' }])
  const filler = built(
    Array.from(
      { length: 60 },
      (): Written => ({ effect: 'deny', subjects: { roles: ['x'] }, conditions: exists('subject.id') }),
    ),
  )
  const asked = question([])
  const slices = Array.from({ length: 600 }, (_none, index) =>
    buildSlice('tenant', index, [...filler, allow!, ...(index % 2 ? [deny!] : [])]),
  )
  for (let round = 0; round < 3; round++) {
    slices.forEach((slice, index) => {
      const { effect } = engine.decide({ ...asked, slice })
      if (effect !== (index % 2 ? 'deny' : 'allow'))
        t.fail(`slice ${index} of round ${round} answered ${effect}`)
    })
  }
  t.equal(engine.decide(asked).effect, 'deny')
})

t.test('a slice knows whether it reads the resource', async (t) => {
  const looks = (...names: string[]) =>
    buildSlice('tenant', 1, built([{ effect: 'deny', conditions: { all: names.map(exists) } }]))
      .looksAtResource
  t.equal(looks('subject.id', 'resource.type'), false)
  t.equal(looks('subject.id', 'resource.id'), true)
  t.equal(emptySlice('tenant', 1).looksAtResource, false)
  t.match(emptySlice('other', 2), { tenantId: 'other', revision: 2, looksAtResource: false })
})

t.test('a policy is in a slice once, for any number of principals', async (t) => {
  const ids = (count: number) => Array.from({ length: count }, () => randomUUID())
  const written = (): Written => ({
    effect: 'deny',
    subjects: { users: ids(180) },
    conditions: { attribute: 'subject.id', operator: 'in', value: ids(190) },
  })
  const policies = built(Array.from({ length: 8 }, written)).map((one, n) => ({ ...one, id: `p${n}` }))
  const slice = buildSlice('tenant', 1, policies)
  t.ok(slice.bytes < 130_000, `eight policies of 14.7 KB take ${slice.bytes} bytes`)
  t.equal(engine.decide({ ...question([]), slice }).effect, 'deny')
  t.equal(sliceFault(slice, 'doc:read'), undefined)
  const sum = sumOfSizes(policies.map(sizeInSlice))
  t.ok(slice.bytes <= sum.bytes && slice.memory <= sum.memory, 'the sum of their sizes is an upper bound')
  const own = (n: number) => ({ ...policies[0]!, id: `q${n}` })
  const many = buildSlice(
    'tenant',
    1,
    Array.from({ length: 40 }, (_none, n) => own(n)),
  )
  t.match(sliceFault(many, 'doc:read'), { code: 'too_large', detail: `${many.bytes} bytes` })
  const slow = { attribute: 'subject.roles', operator: 'contains_any', value: Array(256).fill('x') }
  const [costly] = built([{ effect: 'deny', conditions: { any: Array(7).fill(slow) } }])
  t.equal(sliceFault(buildSlice('tenant', 1, [costly!]), 'doc:read'), undefined)
  t.equal(sliceFault(buildSlice('tenant', 1, [costly!, costly!]), 'doc:read')?.code, 'too_costly')
})

t.test('a policy concerns the actions and resource types that it names', async (t) => {
  const about = (actions: string[], resource_types: string[], action: string, type: string) =>
    concerns(built([{ effect: 'deny', actions, resource_types }])[0]!.compiled, action, type)
  t.ok(about(['user:read'], [], 'user:read', 'user'))
  t.ok(about(['user:*'], [], 'user:read', 'user'))
  t.ok(about(['*'], ['user'], 'user:read', 'user'))
  t.notOk(about(['*'], ['member'], 'user:read', 'user'))
  t.notOk(about(['user:list', 'users:*'], [], 'user:read', 'user'))
})

t.test('an explanation names what is true, what is false and what is missing', async (t) => {
  const conditions = {
    all: [
      { attribute: 'subject.id', operator: 'eq', value: person },
      {
        any: [
          { attribute: 'environment.hour', operator: 'lt', value: 6 },
          { attribute: 'resource.status', operator: 'eq', value: 'open' },
        ],
      },
    ],
  }
  const policies = built([
    { effect: 'deny', conditions },
    { effect: 'allow', subjects: { roles: ['other'] } },
  ])
  const explanation = engine.explain(question(policies), policies)
  const [first, second] = explanation.policies
  t.equal(explanation.decision.effect, 'deny')
  t.strictSame([first!.applies, second!.applies], [true, false])
  t.strictSame(first!.missing_attributes, ['resource.status'])
  t.equal(second!.trace, null)
  const { trace } = first!
  if (!trace || !('group' in trace)) throw new Error('a group was written')
  t.strictSame([trace.outcome, ...trace.of.map(({ outcome }) => outcome)], ['unknown', 'true', 'unknown'])
  t.strictSame(explanationSentences(explanation, 'ship:steer'), [
    'A policy of the tenant forbids this. The policy is "P0".',
    `"subject.id eq "${person}"" is true: the value is "${person}".`,
    '"environment.hour lt 6" is false: the value is 10.',
    '"resource.status eq "open"" is unknown: the value is missing or of another type.',
  ])
})
