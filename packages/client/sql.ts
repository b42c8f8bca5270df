import type { Plan } from './api-types.ts'
import {
  type Comparison,
  NotTranslatable,
  type Target,
  type TranslationOptions,
  translated,
} from './filter.ts'

/** The SQL of a column or another expression, which is written as it is: never take it from a caller. */
export type Column = string | { sql: string; type: 'uuid' }

export interface SqlOptions extends TranslationOptions {
  /** By attribute: `{ 'resource.owner_id': 'i.owner_id' }`. */
  columns: Readonly<Record<string, Column>>
  /** The number of the first parameter; 1 if absent. */
  from?: number
}

/** A condition for `where`, with its parameters. */
export interface Sql {
  text: string
  values: unknown[]
}

type DataType = Plan['attributes'][string]

/**
 * What a plan chooses, as a condition for Postgres. It chooses the rows that an evaluation permits which sends their columns as
 * properties: values beyond the limits of the service (a text of more than 1,024 characters) prove nothing, texts are compared by
 * their bytes, and times in ms. Throws {@link NotTranslatable} for `matches`, and for an attribute without a column.
 */
export function sqlOf(plan: Plan, { columns, from = 1, ...options }: SqlOptions): Sql {
  const values: unknown[] = []
  const parameter = (value: unknown, type: string) => `$${from - 1 + values.push(value)}::${type}`
  const operandOf = (leaf: Comparison, name: string): Operand => {
    const column = Object.hasOwn(columns, name) && columns[name]
    const type = plan.attributes[name]
    if (!column || !type) throw new NotTranslatable(leaf, `${name} has no column.`)
    const [sql, isUuid] = typeof column === 'string' ? [column, false] : [column.sql, true]
    const written = /^[\w.]+$/.test(sql) ? sql : `(${sql})`
    return { type, column: written, isUuid, value: isUuid ? `${written}::text` : forms[type](written) }
  }
  const target: Target<string> = {
    all: (members) =>
      grouped(
        members.filter((one) => one !== 'true'),
        ' and ',
        'true',
      ),
    any: (members) => grouped(members, ' or ', 'false'),
    not: (member) => `${member} is not true`,
    comparison(leaf, operator, wanted) {
      const tested = operandOf(leaf, leaf.attribute)
      if (operator === 'exists') return wanted ? `${tested.value} is not null` : isMissing(tested)
      const other = leaf.value_from === undefined ? null : operandOf(leaf, leaf.value_from)
      const test = other
        ? columnTest(operator, tested, other)
        : constantTest({ leaf, operator, wanted, tested, parameter })
      if (test === undefined) throw new NotTranslatable(leaf, 'SQL has no such comparison.')
      return typeof test === 'string'
        ? outcome(test, wanted)
        : target.all([test.hint, outcome(test.exact, wanted)])
    },
  }
  return { text: translated(plan, options, target), values }
}

const outcome = (test: string, wanted: boolean) => (wanted ? test : `not (${test})`)

const grouped = ([first, ...more]: readonly string[], by: string, none: string) =>
  first === undefined ? none : more.length === 0 ? first : `(${[first, ...more].join(by)})`

/** A column, and its value as the service compares it: null if it is missing or beyond the limits of its type. */
interface Operand {
  type: DataType
  column: string
  isUuid: boolean
  value: string
}

// A jsonb can be null, too.
const isMissing = ({ type, column }: Operand) =>
  type === 'array' ? `coalesce(jsonb_typeof(to_jsonb(${column})), 'null') = 'null'` : `${column} is null`

// The service counts units of UTF-16: two for a character beyond U+FFFF.
const fits = (text: string) =>
  `octet_length(${text}) <= 1024 or octet_length(${text}) <= 3072 and char_length(${text}) + char_length(regexp_replace(${text} collate "C", '[^\\U00010000-\\U0010ffff]', '', 'g')) <= 1024`
const isDouble = (number: string) =>
  `${number} between -1.7976931348623157e308 and 1.7976931348623157e308 and (${number} = 0 or ${number} >= 5e-324 or ${number} <= -5e-324)`

const forms: Readonly<Record<DataType, (column: string) => string>> = {
  string: (column) => `(case when ${fits(`${column}::text`)} then ${column}::text end collate "C")`,
  integer: (column) =>
    `(case when ${column} between -9007199254740991 and 9007199254740991 and ${column} = trunc(${column}) then ${column} end)`,
  number: (column) => `(case when ${isDouble(column)} then ${column}::float8 end)`,
  boolean: (column) => column,
  // The years 0000 to 9999, which RFC 3339 has.
  datetime: (column) =>
    `(case when ${column} >= to_timestamp(-62167219200) and ${column} < to_timestamp(253402300800) then ${column} end)`,
  ip: (column) =>
    `(case when masklen(${column}) = case family(${column}) when 4 then 32 else 128 end then case when ${column} <<= inet '::ffff:0.0.0.0/96' then inet '0.0.0.0' + (${column} - inet '::ffff:0.0.0.0') else ${column} end end)`,
  array: (column) =>
    `(case when jsonb_typeof(to_jsonb(${column})) = 'array' then case when jsonb_array_length(to_jsonb(${column})) <= 128 then (${itemsOf(column)}) end end)`,
}

/** The list with its numbers as doubles; no row if an item is no text, number or boolean within the limits. */
function itemsOf(column: string): string {
  const [text, number] = [`(item #>> '{}')`, `(item #>> '{}')::numeric`]
  const isValid = `case jsonb_typeof(item) when 'string' then ${fits(text)} when 'number' then ${isDouble(number)} else jsonb_typeof(item) = 'boolean' end`
  const written = `case jsonb_typeof(item) when 'number' then to_jsonb(case when ${isDouble(number)} then ${number}::float8 end) else item end`
  return `select coalesce(jsonb_agg(${written}), '[]') from jsonb_array_elements(to_jsonb(${column})) item having coalesce(bool_and(${isValid}), true)`
}

/** A test that is true, false, or null where a value is missing; `hint`: what its outcome implies, in a form that can use an index. */
type Test = string | { exact: string; hint: string } | undefined

/** False, or null where the value is. */
const never = ({ value }: Operand) => `${value} <> ${value}`

type Form = (one: string, other: string, last: string) => string

const textForms: Readonly<Record<string, Form>> = {
  contains: (one, other) => `strpos(${one}, ${other}) > 0`,
  starts_with: (one, other) => `starts_with(${one}, ${other})`,
  ends_with: (one, other) => `right(${one}, char_length(${other})) = ${other}`,
}
const arrayForms: Readonly<Record<string, Form>> = {
  contains: (one, other) => `${one} @> ${other}`,
  contains_all: (one, other) => `${one} @> ${other}`,
  subset_of: (one, other) => `${one} <@ ${other}`,
  contains_any: (one, other) =>
    `(select case when other is not null then coalesce(bool_or(one @> item), one <> one) end from (select ${one} as one, ${other} as other offset 0) lists left join lateral jsonb_array_elements(other) item on true group by one, other)`,
}
const orderForms: Readonly<Record<string, Form>> = {
  eq: (one, other) => `${one} = ${other}`,
  lt: (one, other) => `${one} < ${other}`,
  lte: (one, other) => `${one} <= ${other}`,
  between: (one, from, to) => `${one} between ${from} and ${to}`,
}
// A column has µs, and what is compared are whole ms.
const next = (instant: string) => `${instant} + interval '1 millisecond'`
const instantForms: Readonly<Record<string, Form>> = {
  eq: (one, other) => `(${one} >= ${other} and ${one} < ${next(other)})`,
  lt: (one, other) => `${one} < ${other}`,
  lte: (one, other) => `${one} < ${next(other)}`,
  between: (one, from, to) => `(${one} >= ${from} and ${one} < ${next(to)})`,
}

function columnTest(operator: string, tested: Operand, other: Operand): Test {
  const { type } = tested
  if (operator === 'in') return `${other.value} @> to_jsonb(${tested.value})`
  if (type === 'array') {
    const operand = other.type === 'array' ? other.value : `to_jsonb(${other.value})`
    return arrayForms[operator]?.(tested.value, operand, '')
  }
  const comparable = ({ value }: Operand) =>
    type === 'datetime'
      ? `date_trunc('milliseconds', ${value})`
      : type === 'integer' || type === 'number'
        ? `${value}::float8`
        : value
  const form = type === 'string' ? (textForms[operator] ?? orderForms[operator]) : orderForms[operator]
  return form?.(comparable(tested), comparable(other), '')
}

interface ConstantTest {
  leaf: Comparison
  operator: string
  wanted: boolean
  tested: Operand
  parameter(value: unknown, type: string): string
}

function constantTest(test: ConstantTest): Test {
  const { leaf, operator, tested, parameter } = test
  const { type, value } = tested
  if (type === 'string') return textTest(test)
  if (type === 'integer' || type === 'number') return numberTest(test)
  if (type === 'datetime') return instantTest(test)
  if (type === 'boolean') return operator === 'eq' ? `${value} = ${leaf.value === true}` : undefined
  if (type === 'ip' && operator === 'eq') return `${value} = ${parameter(leaf.value, 'inet')}`
  if (type === 'ip')
    return operator === 'in_cidr'
      ? `${value} <<= any(${parameter([leaf.value].flat(), 'inet[]')})`
      : undefined
  const given = Array.isArray(leaf.value) ? leaf.value.map(sendable) : sendable(leaf.value)
  return arrayForms[operator]?.(value, parameter(JSON.stringify(given), 'text::jsonb'), '')
}

// Postgres has no text with NUL, and no value of a row is as long as this.
const sendable = (value: unknown) =>
  typeof value === 'string' && value.includes('\0') ? '?'.repeat(1025) : value

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

function textTest({ leaf, operator, wanted, tested, parameter }: ConstantTest): Test {
  const { column, isUuid, value } = tested
  const given = [leaf.value].flat().map(String)
  if (operator !== 'eq' && operator !== 'in')
    return textForms[operator]?.(value, parameter(sendable(given[0]), 'text'), '')
  const items = given.filter((item) => (isUuid ? uuid.test(item) : !item.includes('\0')))
  if (items.length === 0) return never(tested)
  const equals = `= any(${parameter(items, isUuid ? 'uuid[]' : 'text[]')})`
  if (isUuid) return `${column} ${equals}`
  if (!wanted) return `${value} ${equals}`
  // What equals a constant is within the limits.
  return { exact: `${column}::text collate "C" ${equals}`, hint: `${column}::text ${equals}` }
}

function numberTest({ leaf, operator, wanted, tested, parameter }: ConstantTest): Test {
  const { type, column, value } = tested
  const given = [leaf.value].flat()
  if (given.length === 0) return never(tested)
  const isWhole = type === 'integer' && given.every(Number.isSafeInteger)
  const kind = isWhole ? 'bigint' : 'float8'
  const list = operator === 'in' ? parameter(given, `${kind}[]`) : null
  const operands = list ? [] : given.map((one) => parameter(one, kind))
  const form = (one: string) =>
    list ? `${one} = any(${list})` : orderForms[operator]?.(one, operands[0]!, operands[1] ?? '')
  return withHint(form, wanted, isWhole ? { column, value } : { value: `${value}::float8` })
}

function instantTest({ leaf, operator, wanted, tested, parameter }: ConstantTest): Test {
  const [from = '', to = ''] = [leaf.value]
    .flat()
    .map((one) => parameter(instantText(String(one)), 'timestamptz'))
  return withHint((one) => instantForms[operator]?.(one, from, to), wanted, tested)
}

/** Postgres writes the year 0000 as 1 BC. */
const instantText = (text: string) => (text.startsWith('0000') ? `0001${text.slice(4)} BC` : text)

function withHint(
  form: (one: string) => string | undefined,
  wanted: boolean,
  { value, column }: { value: string; column?: string },
): Test {
  const exact = form(value)
  return exact === undefined || column === undefined ? exact : { exact, hint: outcome(form(column)!, wanted) }
}
