import t from 'tap'
import { builtInAttributes } from '../../src/policy-engine/catalogue/built-in-attributes.ts'
import { compilePolicy } from '../../src/policy-engine/compile/compile-policy.ts'
import type { DataType } from '../../src/policy-engine/compile/conditions.ts'
import { patternCost } from '../../src/policy-engine/compile/pattern-cost.ts'
import type { PolicySource } from '../../src/policy-engine/compile/policy-document.ts'
import { cpuTime } from '../helpers/cpu-time.ts'

const attributes = new Map<string, { type: DataType }>([
  ...builtInAttributes,
  ['subject.score', { type: 'number' }],
  ['resource.tags', { type: 'array' }],
])
const roles = new Map([
  ['owner', 'id-owner'],
  ['admin', 'id-admin'],
  ['id-admin', 'id-admin'],
  ['id-owner', 'id-owner'],
])
const context = { attributes, role: (name: string) => roles.get(name), patternCostUs: patternCost() }

const source = (changes: Partial<PolicySource> = {}): PolicySource => ({
  effect: 'deny',
  resource_types: [],
  actions: ['user:read'],
  valid_from: null,
  valid_until: null,
  subjects: undefined,
  conditions: undefined,
  approval: undefined,
  obligations: undefined,
  ...changes,
})

function compiled(changes: Partial<PolicySource>) {
  const result = compilePolicy(source(changes), context)
  if ('faults' in result) throw new Error(JSON.stringify(result.faults))
  return result
}

function faults(changes: Partial<PolicySource>): [string, string][] {
  const result = compilePolicy(source(changes), context)
  return 'faults' in result ? result.faults.map(({ pointer, code }) => [pointer, code]) : []
}

const leaf = (attribute: string, operator: string, value?: unknown, more = {}) => ({
  attribute,
  operator,
  ...(value === undefined ? {} : { value }),
  ...more,
})
const faultOf = (...args: Parameters<typeof leaf>) => faults({ conditions: leaf(...args) })

t.test('a policy without conditions always applies, and has the defaults', async (t) => {
  for (const conditions of [undefined, null, {}, []]) {
    const { policy, document } = compiled({ conditions })
    t.strictSame(policy.proof, { any: { l: [], c: [] } }, 'an empty any is never proven')
    t.equal(document.conditions, null)
    t.strictSame(document.subjects, { roles: [], departments: [], users: [] })
    t.strictSame(document.approval, {
      quorum: 1,
      approver: { roles: ['id-admin', 'id-owner'] },
      expires_in: 86_400,
      valid_for: 3600,
    })
  }
  t.strictSame(compiled({ effect: 'allow' }).policy.proof, { all: { l: [], c: [] } })
})

t.test('a document compiled again gives the same policy', async (t) => {
  const first = compiled({
    effect: 'require_approval',
    subjects: { roles: ['admin'] },
    conditions: { none: [leaf('subject.email', 'ends_with', '@a.example')] },
    obligations: [{ type: 'step_up', properties: { max_age: 60 } }],
  })
  t.strictSame(compiled(first.document).policy, first.policy)
  t.strictSame(first.policy.subjects.roles, ['id-admin'])
})

t.test('an allow has the proof of its condition, a deny the proof of the opposite', async (t) => {
  const conditions = {
    all: [leaf('subject.score', 'gte', 5), { none: [leaf('subject.email_verified', 'eq', true)] }],
  }
  const score = (w: boolean) => ({ o: 'lt', k: 'subject.score', v: 5, w })
  const verified = (w: boolean) => ({ o: 'eq', k: 'subject.email_verified', v: true, w })
  t.strictSame(compiled({ effect: 'allow', conditions }).policy.proof, {
    all: { g: verified(false), l: [score(false)], c: [] },
  })
  t.strictSame(compiled({ conditions }).policy.proof, { any: { g: verified(true), l: [score(true)], c: [] } })
})

t.test('nested groups of one kind are merged, and empty groups decide', async (t) => {
  const one = leaf('subject.score', 'eq', 1)
  const proof = (conditions: unknown) => compiled({ effect: 'allow', conditions }).policy.proof
  t.strictSame(proof({ all: [{ all: [{ any: [one] }] }] }), proof(one))
  t.strictSame(proof({ any: [one, { all: [] }] }), { all: { l: [], c: [] } })
  t.strictSame(proof({ all: [one, { any: [] }] }), { any: { l: [], c: [] } })
  t.strictSame(proof({ all: [one, { none: [] }] }), proof(one))
})

t.test('operands are stored in canonical spelling', async (t) => {
  const operand = (...args: Parameters<typeof leaf>) => {
    const { proof } = compiled({ effect: 'allow', conditions: leaf(...args) }).policy
    const { v, f, e } = ('all' in proof && proof.all.g) || {}
    return v ?? f ?? e
  }
  t.strictSame(operand('environment.ip', 'in_cidr', '10.1.2.3/8'), ['10.0.0.0/8'])
  t.strictSame(operand('environment.ip', 'in_cidr', ['2001:DB8::1/33', '::1']), [
    '2001:db8:0:0:0:0:0:0/33',
    '0:0:0:0:0:0:0:1/128',
  ])
  t.equal(operand('environment.ip', 'eq', '::ffff:10.0.0.1'), '10.0.0.1')
  t.equal(operand('subject.joined_at', 'lt', '2026-01-01T01:00:00+01:00'), Date.UTC(2026, 0, 1))
  t.equal(operand('subject.joined_at', 'gt', 'now-7d'), 'now:-604800000')
  t.strictSame(operand('environment.time', 'between', ['now-1h', '2026-01-01T00:00:00Z']), [
    'now:-3600000',
    `at:${Date.UTC(2026, 0, 1)}`,
  ])
  t.equal(operand('resource.owner_id', 'eq', undefined, { value_from: 'subject.id' }), 'subject.id')
})

t.test('each fault has its position', async (t) => {
  t.strictSame(faultOf('subject.nope', 'eq', 1), [['/conditions/attribute', 'unknown_attribute']])
  t.strictSame(faultOf('subject.id', 'lt', 'x'), [['/conditions/operator', 'operator_not_allowed']])
  t.strictSame(faultOf('subject.id', 'like', 'x'), [['/conditions/operator', 'operator_not_allowed']])
  t.strictSame(faultOf('subject.id', 'eq', 5), [['/conditions/value', 'type_mismatch']])
  t.strictSame(faultOf('environment.hour', 'eq', 1.5), [['/conditions/value', 'type_mismatch']])
  t.strictSame(faultOf('subject.id', 'in', ['x', 5]), [['/conditions/value/1', 'type_mismatch']])
  t.strictSame(faultOf('subject.id', 'in', []), [['/conditions/value', 'type_mismatch']])
  t.strictSame(faultOf('subject.id', 'eq'), [['/conditions', 'required']])
  t.strictSame(faultOf('subject.id', 'exists', true), [['/conditions', 'invalid']])
  t.strictSame(faultOf('subject.id', 'eq', 'x', { value_from: 'subject.email' }), [
    ['/conditions', 'required'],
  ])
  t.strictSame(faultOf('subject.id', 'eq', undefined, { value_from: 'subject.score' }), [
    ['/conditions/value_from', 'type_mismatch'],
  ])
  t.strictSame(faultOf('subject.id', 'matches', undefined, { value_from: 'subject.email' }), [
    ['/conditions/value_from', 'operator_not_allowed'],
  ])
  t.strictSame(faultOf('environment.hour', 'between', [22, 6]), [['/conditions/value', 'invalid']])
  t.strictSame(faultOf('subject.joined_at', 'lt', '2026-02-30T00:00:00Z'), [
    ['/conditions/value', 'type_mismatch'],
  ])
  t.strictSame(faults({ conditions: { all: [{ any: [{}] }] } }), [['/conditions/all/0/any/0', 'invalid']])
  t.strictSame(faults({ conditions: { all: [], any: [] } }), [['/conditions', 'invalid']])
  t.strictSame(faults({ conditions: { all: {} } }), [['/conditions/all', 'invalid']])
  t.strictSame(faults({ conditions: 'x' }), [['/conditions', 'invalid']])
  t.strictSame(faults({ subjects: { users: ['x'] } }), [['/subjects/users/0', 'malformed_id']])
  t.strictSame(faults({ subjects: { roles: ['nobody'] } }), [['/subjects/roles/0', 'unknown_role']])
  t.strictSame(faults({ approval: { quorum: 21 } }), [['/approval/quorum', 'too_large']])
  t.strictSame(faults({ approval: { approver: { roles: [] } } }), [['/approval/approver/roles', 'invalid']])
  t.strictSame(faults({ obligations: [{ type: 'mask_fields' }] }), [
    ['/obligations/0/properties/fields', 'required'],
  ])
  t.strictSame(faults({ obligations: [{ type: 'notify' }] }), [
    ['/obligations/0/type', 'obligation_not_allowed'],
  ])
  t.strictSame(faults({ actions: ['doc:*'], obligations: [{ type: 'notify' }] }), [])
  t.strictSame(faults({ actions: ['doc:read', '*'], obligations: [{ type: 'notify' }] }), [
    ['/obligations/0/type', 'obligation_not_allowed'],
  ])
})

t.test('all faults are reported at once', async (t) => {
  const conditions = { all: [leaf('subject.nope', 'eq', 1), leaf('subject.id', 'eq', 1)] }
  t.strictSame(faults({ conditions, subjects: { users: ['x'] } }), [
    ['/subjects/users/0', 'malformed_id'],
    ['/conditions/all/0/attribute', 'unknown_attribute'],
    ['/conditions/all/1/value', 'type_mismatch'],
  ])
})

t.test('malformed networks and addresses are refused', async (t) => {
  for (const network of [
    '10.0.0.0/8 ',
    ' 10.0.0.0/8',
    '10.0.0.0/33',
    '10.0.0.0/x',
    '10.0.0.0/+8',
    '10.0.0.0/8/9',
    '10.0.0.0/255.0.0.0',
    '10.0.0.0/',
    '10.0.0.0/08',
    '010.0.0.0/8',
    '10.0.0/8',
    '::ffff:10.0.0.0/104',
    '::/129',
    'fe80::1%1/64',
    '',
    'x',
    5,
  ]) {
    t.strictSame(
      faultOf('environment.ip', 'in_cidr', [network]),
      [['/conditions/value/0', 'type_mismatch']],
      String(network),
    )
  }
  t.strictSame(faultOf('environment.ip', 'eq', '10.0.0.1/8'), [['/conditions/value', 'type_mismatch']])
})

t.test('patterns that are too expensive or ambiguous are refused', async (t) => {
  const codeOf = (pattern: string) => faultOf('subject.email', 'matches', pattern)[0]?.[1]
  for (const pattern of ['(?i)\\pL{300}', 'a{1000}', '(.{32}){31}', '[\\pL\\pN]{500}']) {
    t.equal(codeOf(pattern), 'too_costly', pattern)
  }
  for (const pattern of ['[', '(?=a)', '(a)\\1', 'a\0b', 'x\\C', '(?<n>a)', '\ud800']) {
    t.equal(codeOf(pattern), 'invalid', JSON.stringify(pattern))
  }
  t.equal(codeOf('a'.repeat(257)), 'too_large')
  for (const pattern of ['^a+$', '(?P<n>a)', 'x\\\\C', '^(?:[a-z0-9]+\\.)+example\\.com$'])
    t.equal(codeOf(pattern), undefined, pattern)
  const many = Array.from({ length: 30 }, () => leaf('subject.email', 'matches', '(?i)\\pL{300}'))
  const ms = await cpuTime(() => {
    t.ok(faults({ conditions: { any: many } }).some(([, code]) => code === 'too_costly'))
  })
  t.ok(ms < 2_000, 'only one of them is measured')
})

t.test('a condition with as many numbers as fit is looked through in an instant', async (t) => {
  const numbers = (at: number) => Array.from({ length: 250 }, (_none, index) => at * 250 + index)
  const all = Array.from({ length: 12 }, (_none, at) => leaf('subject.score', 'not_in', numbers(at)))
  const ms = await cpuTime(() => t.strictSame(compiled({ conditions: { all } }).warnings, []))
  t.ok(ms < 200, `${ms} ms`)
})

t.test('the size of a policy is limited', async (t) => {
  const one = leaf('subject.score', 'eq', 1)
  const nested = (depth: number): unknown =>
    depth === 0 ? one : { [depth % 2 ? 'all' : 'any']: [nested(depth - 1), one] }
  t.strictSame(faults({ conditions: nested(4) }), [])
  t.strictSame(faults({ conditions: nested(5) })[0]?.[1], 'too_large')
  t.strictSame(faults({ conditions: { all: Array(64).fill(one) } }), [])
  t.strictSame(faults({ conditions: { all: Array(65).fill(one) } }), [['/conditions', 'too_large']])
  const list = (length: number) => leaf('subject.score', 'in', Array(length).fill(1))
  t.strictSame(faults({ conditions: list(256) }), [])
  t.strictSame(faults({ conditions: list(257) }), [['/conditions/value', 'too_large']])
  t.strictSame(faultOf('subject.id', 'eq', 'x'.repeat(1025)), [['/conditions/value', 'too_large']])
  const long = leaf('subject.id', 'in', Array(20).fill('x'.repeat(1000)))
  t.strictSame(faults({ conditions: long }), [['', 'too_large']])
  const costly = leaf('resource.tags', 'contains_any', Array(256).fill('x'))
  t.strictSame(faults({ conditions: { any: Array(8).fill(costly) } }), [['/conditions', 'too_costly']])
})

t.test('parts without an effect get a warning', async (t) => {
  const warned = (effect: 'allow' | 'deny' | 'require_approval', ...actions: string[]) =>
    compiled({ effect, actions }).warnings.map(({ pointer, code }) => `${pointer} ${code}`)
  t.strictSame(warned('allow', 'user:list', 'role:create', 'doc:read', '*', 'webhook:*', 'invitation:*'), [
    '/actions/1 not_grantable',
    '/actions/4 not_grantable',
  ])
  t.strictSame(warned('require_approval', 'user:list', 'role:create', 'doc:read', '*', 'user:*', 'role:*'), [
    '/actions/0 not_gateable',
    '/actions/4 not_gateable',
  ])
  t.strictSame(warned('deny', 'user:list'), [])
})

t.test('outside its period of validity a policy of any effect does not apply', async (t) => {
  const time = (o: object) => ({ k: 'environment.time', o: 'lt', ...o })
  const validity = { valid_from: 1000, valid_until: 2000 }
  t.strictSame(compiled({ effect: 'allow', ...validity }).policy.proof, {
    all: { g: time({ v: 1000, w: false }), l: [time({ v: 2000, w: true })], c: [] },
  })
  t.strictSame(compiled(validity).policy.proof, {
    any: { g: time({ v: 1000, w: true }), l: [time({ v: 2000, w: false })], c: [] },
  })
})
