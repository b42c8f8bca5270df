import fc from 'fast-check'
import { type DataType, operatorsByType } from '../../src/policy-engine/compile/conditions.ts'

/** The attributes of the generated policies: three of each type, to compare one with the other. */
export const types: Record<string, DataType> = Object.fromEntries(
  Object.keys(operatorsByType).flatMap((type) => [
    [`subject.${type}_one`, type as DataType],
    [`resource.${type}_two`, type as DataType],
    [`resource.${type}_three`, type as DataType],
  ]),
)

const departmentId = (end: string) => `018f0000-0000-7000-8000-0000000000${end}`

/** The departments of the generated policies with their parents; one more id belongs to none of them. */
export const departments: ReadonlyMap<string, string | null> = new Map([
  [departmentId('d1'), null],
  [departmentId('d2'), departmentId('d1')],
  [departmentId('d3'), departmentId('d2')],
  [departmentId('d4'), null],
])
export const departmentIds = [...departments.keys(), departmentId('d9'), departmentId('D3')]

export const words = [
  '',
  'a',
  'A',
  'eu-west',
  'eu-',
  'é',
  'e\u0301',
  'İ',
  '🙂',
  '\uffff',
  'ſ',
  'alpha beta',
  '10.0.0.1',
  '7',
]
const numbers = [0, -1, 1, 5, 7, 2 ** 53 - 1, -(2 ** 53 - 1), 0.5, 1e-300, 1.7e308, -0, 2 ** 53 + 2]
const integers = numbers.filter(Number.isSafeInteger)
const times = [
  '2026-01-01T00:00:00Z',
  '2026-01-01T01:00:00+01:00',
  '2025-12-31T23:59:59.999Z',
  '2026-02-28T12:00:00Z',
  '1999-12-31T23:59:59Z',
]
const addresses = [
  '10.1.2.3',
  '10.0.0.0',
  '11.0.0.0',
  '::1',
  '2001:db8::1',
  '2001:DB8:0:0::1',
  '::ffff:10.1.2.3',
  '::ffff:a01:203',
  '0.0.0.0',
  '::',
]
const networks = [
  '10.0.0.0/8',
  '10.1.2.3',
  '10.1.2.3/31',
  '0.0.0.0/0',
  '2001:db8::/32',
  '::/0',
  '::1',
  '2001:db8::1/127',
  '192.0.2.0/24',
]
const patterns = ['^a', 'a$', '^eu-[a-z]+$', 'b.t', '^$', '[0-9]+', '(?:a|é)', '^.$']
const scalars = [...words, ...integers, true, false]

// Almost valid values: none of them can permit anything.
const odd = [
  null,
  undefined,
  [],
  {},
  '',
  'x',
  3,
  2.5,
  true,
  false,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  '2026-13-01T00:00:00Z',
  '2026-01-01',
  '10.0.0.0/8',
  '10.0.0.1 ',
  '010.0.0.1',
  '10.0.0',
  'fe80::1%eth0',
  ':::',
  '1::2::3',
  [[1]],
  [null],
  { a: 1 },
  '\ud800',
]

const good: Record<DataType, fc.Arbitrary<unknown>> = {
  string: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...words) },
    { weight: 1, arbitrary: fc.constantFrom(...departmentIds) },
  ),
  integer: fc.constantFrom(...integers),
  number: fc.constantFrom(...numbers),
  boolean: fc.boolean(),
  datetime: fc.constantFrom(...times),
  ip: fc.constantFrom(...addresses),
  array: fc.array(fc.constantFrom(...scalars), { maxLength: 4 }),
}

/** Values of all attributes as a caller can send them: most of the right type, some missing, some of another type. */
export const values = fc.record(
  Object.fromEntries(
    Object.entries(types).map(([name, type]) => [
      name,
      fc.oneof({ weight: 7, arbitrary: good[type] }, { weight: 2, arbitrary: fc.constantFrom(...odd) }),
    ]),
  ),
  { requiredKeys: [] },
)

const withOperand = (attribute: string, operator: string, operand: fc.Arbitrary<object>) =>
  operand.map((more) => ({ attribute, operator, ...more }))
const value = (arbitrary: fc.Arbitrary<unknown>) => arbitrary.map((one) => ({ value: one }))
const listOf = (arbitrary: fc.Arbitrary<unknown>) =>
  value(fc.array(arbitrary, { minLength: 1, maxLength: 4 }))
const from = (type: DataType) =>
  fc.constantFrom(
    { value_from: `resource.${type}_two` },
    { value_from: `resource.${type}_three` },
    { value_from: `subject.${type}_one` },
  )
const instant = fc.oneof(good.datetime, fc.constantFrom('now', 'now-24h', 'now+7d', 'now-1w', 'now+90s'))
const range = (items: fc.Arbitrary<unknown>) =>
  fc.tuple(items, items).map((pair) => ({
    value: (pair as number[]).every(Number.isFinite)
      ? (pair as number[]).toSorted((a, b) => a - b)
      : pair.toSorted(),
  }))

function operandOf(type: DataType, operator: string): fc.Arbitrary<object> {
  if (operator === 'exists' || operator === 'not_exists') return fc.constant({})
  if (operator === 'in_department')
    return fc.oneof(
      value(fc.constantFrom(...departmentIds)),
      listOf(fc.constantFrom(...departmentIds)),
      from('string'),
    )
  if (operator === 'matches') return value(fc.constantFrom(...patterns))
  if (operator === 'in' || operator === 'not_in')
    return fc.oneof(listOf(good[type]), from('array'), from(type))
  if (operator === 'between')
    return range(type === 'datetime' ? fc.oneof(good.datetime, fc.constant('now')) : good[type])
  if (operator.endsWith('in_cidr')) {
    return fc.oneof(listOf(fc.constantFrom(...networks)), value(fc.constantFrom(...networks)))
  }
  if (type === 'array' && operator === 'contains')
    return fc.oneof(value(fc.constantFrom(...scalars)), from('string'), from('number'), from('boolean'))
  if (type === 'array') return fc.oneof(listOf(fc.constantFrom(...scalars)), from('array'))
  if (type === 'integer') return fc.oneof(value(good[type]), from(type), from('number'))
  return fc.oneof(value(type === 'datetime' ? instant : good[type]), from(type))
}

const leaf = fc
  .constantFrom(...Object.entries(types))
  .chain(([name, type]) =>
    fc
      .constantFrom(...(operatorsByType[type] as readonly string[]))
      .chain((operator) => withOperand(name, operator, operandOf(type, operator))),
  )

const group = (members: fc.Arbitrary<unknown>, maxLength: number) =>
  fc
    .tuple(fc.constantFrom('all', 'any', 'none'), fc.array(members, { maxLength }))
    .map(([kind, of]) => ({ [kind]: of }))

// More comparisons than the rules write out, the later ones deciding: a value mostly exists.
const wide = fc
  .tuple(
    fc.constantFrom(['all', 'exists'], ['any', 'not_exists'], ['none', 'not_exists']),
    fc.array(fc.constantFrom(...Object.keys(types)), { minLength: 3, maxLength: 7 }),
    fc.array(leaf, { maxLength: 3 }),
  )
  .map(([[kind, operator], names, later]) => ({
    [kind as string]: [...names.map((attribute) => ({ attribute, operator })), ...later],
  }))

const levels = [1, 2, 3].reduce<fc.Arbitrary<unknown>>(
  (below) => fc.oneof({ weight: 2, arbitrary: leaf }, { weight: 2, arbitrary: group(below, 4) }),
  fc.oneof(leaf, group(leaf, 4)),
)

/** Conditions as an author can write them, up to four levels deep. */
export const conditions = fc.oneof(
  { weight: 1, arbitrary: fc.constant(null) },
  { weight: 9, arbitrary: levels },
  { weight: 3, arbitrary: wide },
)

/** The subjects of a policy: everyone, or some. */
export const policySubjects = fc.constantFrom(
  {},
  {},
  {},
  { roles: ['reader'] },
  { roles: ['other', 'reader'] },
  { roles: ['other'] },
  { departments: ['018f0000-0000-7000-8000-0000000000d1'] },
  { users: ['018f0000-0000-7000-8000-0000000000a1', '018f0000-0000-7000-8000-0000000000a2'] },
)

/** A few policies of all effects, about everyone or about some subjects. */
export const policies = fc.array(
  fc.record({
    effect: fc.constantFrom('allow' as const, 'allow' as const, 'deny' as const, 'require_approval' as const),
    conditions,
    subjects: policySubjects,
  }),
  { minLength: 1, maxLength: 5 },
)
