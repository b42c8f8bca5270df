import fc from 'fast-check'
import { departments, words } from './generated.ts'

/** A value of a column: as Postgres reads it, and as an application sends it. */
export interface Cell {
  sql: string | null
  sent: unknown
}

const same = (value: string): Cell => ({ sql: value, sent: value })
const none: Cell = { sql: null, sent: null }
const long = [
  'x'.repeat(1024),
  'x'.repeat(1025),
  '🙂'.repeat(512),
  `${'🙂'.repeat(512)}x`,
  'é'.repeat(1024),
  'é'.repeat(1025),
  '\uffff'.repeat(1024),
  '\uffff'.repeat(1025),
  '?'.repeat(1025),
]
const texts = [...words, ...departments.keys(), 'eu-west-1', 'Alpha', ...long].filter(
  (text) => !text.includes('\0'),
)
const text = fc.constantFrom(...texts.map(same))

/** A number as JSON writes it is parsed as a double. */
const number = (value: string): Cell => ({ sql: value, sent: JSON.parse(value) })
const whole = [
  '0',
  '1',
  '-1',
  '5',
  '7',
  '9007199254740991',
  '-9007199254740991',
  '9007199254740992',
  '9007199254740993',
]
const bigints = [...whole, '9223372036854775807', '-9223372036854775808']
const fractions = [
  '0.5',
  '7.5',
  '0.1',
  '-0.1',
  '1e-300',
  '1.7e308',
  '12345678901234567890.5',
  '123456789012345.6789',
]
const numerics = [...whole, ...fractions, '1e400', '-1e400', '0.30000000000000000001', '0.3']
const doubles = [
  ...fractions,
  '5e-324',
  '-5e-324',
  '1.7976931348623157e308',
  '5',
  '7',
  '-0',
  '9007199254740994',
]
const integerNumerics = [...whole, '1.5', '1e400', '-0.5', '7.0']

const instants: Cell[] = [
  ['2026-01-01 00:00:00+00', '2026-01-01T00:00:00Z'],
  ['2026-01-01 00:00:00.000999+00', '2026-01-01T00:00:00.000999Z'],
  ['2025-12-31 23:59:59.999999+00', '2025-12-31T23:59:59.999999Z'],
  ['2025-12-31 23:59:59.999+00', '2025-12-31T23:59:59.999Z'],
  ['2026-01-01 00:00:00.001+00', '2026-01-01T00:00:00.001Z'],
  ['2026-07-06 10:30:00+00', '2026-07-06T10:30:00Z'],
  ['2026-07-06 10:30:00.0005+00', '2026-07-06T10:30:00.0005Z'],
  ['2026-07-06 10:29:59.9995+00', '2026-07-06T10:29:59.9995Z'],
  ['1969-12-31 23:59:59.999500+00', '1969-12-31T23:59:59.999500Z'],
  ['1999-12-31 23:59:59+00', '1999-12-31T23:59:59Z'],
  ['0001-01-01 00:00:00+00 BC', '0000-01-01T00:00:00Z'],
  ['0002-12-31 23:59:59.999+00 BC', '-000001-12-31T23:59:59.999Z'],
  ['9999-12-31 23:59:59.999999+00', '9999-12-31T23:59:59.999999Z'],
  ['10000-01-01 00:00:00+00', '+010000-01-01T00:00:00.000Z'],
  ['infinity', 'infinity'],
].map(([sql, sent]) => ({ sql: sql!, sent }))

const addresses = [
  '10.1.2.3',
  '10.0.0.0',
  '11.0.0.0',
  '10.0.0.0/8',
  '::1',
  '::1/64',
  '2001:db8::1',
  '::ffff:10.1.2.3',
]

const items = [
  ...words,
  'x'.repeat(1024),
  'x'.repeat(1025),
  '🙂'.repeat(513),
  0,
  1,
  7,
  0.5,
  0.1,
  1e308,
  true,
  false,
]
const odd = [null, [1], { a: 1 }]
const lists = fc.oneof(
  { weight: 8, arbitrary: fc.array(fc.constantFrom<unknown>(...items), { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.array(fc.constantFrom<unknown>(...items, ...odd), { maxLength: 4 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(Array(128).fill('a'), Array(129).fill('a'), {}, 'a', 7, true, null),
  },
)
const json = lists.map((value): Cell => ({ sql: JSON.stringify(value), sent: value }))
/** Postgres keeps each digit of a number in jsonb; JSON of an application does not. */
const precise = fc.constantFrom(
  ...['[9007199254740993]', '[1e400]', '[0.30000000000000000001, 7]', '[7.0]'].map(number),
)
const textItems = fc.array(fc.constantFrom(...words, 'x'.repeat(1025)), { maxLength: 4 })
const textLists = fc.oneof(
  textItems,
  fc.constantFrom(Array(128).fill('a'), Array(129).fill('7'), [null], ['a', null]),
)
const quoted = (item: string | null) =>
  item === null ? 'null' : `"${item.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
const arrays = textLists.map((list): Cell => ({ sql: `{${list.map(quoted).join(',')}}`, sent: list }))

const column = (type: string, cells: fc.Arbitrary<Cell>) => ({
  type,
  cells: fc.oneof({ weight: 1, arbitrary: fc.constant(none) }, { weight: 7, arbitrary: cells }),
})
const numbers = (values: readonly string[]) => fc.constantFrom(...values.map(number))

/** Columns of an application, by the attributes of the generated policies. */
export const columns: Record<string, { type: string; cells: fc.Arbitrary<Cell> }> = {
  string_two: column('text', text),
  string_three: column('varchar collate loose', text),
  integer_two: column('bigint', numbers(bigints)),
  integer_three: column('numeric', numbers(integerNumerics)),
  number_two: column('float8', numbers(doubles)),
  number_three: column('numeric', numbers(numerics)),
  boolean_two: column(
    'boolean',
    fc.boolean().map((value) => ({ sql: String(value), sent: value })),
  ),
  boolean_three: column(
    'boolean',
    fc.boolean().map((value) => ({ sql: String(value), sent: value })),
  ),
  datetime_two: column('timestamptz', fc.constantFrom(...instants)),
  datetime_three: column('timestamptz', fc.constantFrom(...instants)),
  ip_two: column('inet', fc.constantFrom(...addresses.map(same))),
  ip_three: column('inet', fc.constantFrom(...addresses.map(same))),
  array_two: column('jsonb', fc.oneof({ weight: 9, arbitrary: json }, { weight: 1, arbitrary: precise })),
  array_three: column('text[]', arrays),
}

/** Rows of such a table. */
export const rows = fc.array(
  fc.record(Object.fromEntries(Object.entries(columns).map(([name, { cells }]) => [name, cells]))),
  { minLength: 10, maxLength: 30 },
)
