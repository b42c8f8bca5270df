import { misspelt } from '../../text/nearest-name.ts'
import { withoutCase } from '../catalogue/attribute-keys.ts'
import { normalised } from '../evaluate/attributes.ts'
import { canonicalNetwork } from './addresses.ts'
import type { CheckedCondition, Checking } from './check-condition.ts'
import type { Leaf } from './compiled-policy.ts'
import { type DataType, operatorsByType, type Scalar } from './conditions.ts'
import { departmentName, pathName } from './departments.ts'
import { relativeInstantOf } from './instants.ts'
import { costOf } from './leaf-cost.ts'
import { comparisonOf } from './operators.ts'
import { patternFault } from './pattern-cost.ts'
import type { FaultCode } from './policy-document.ts'

const maxItems = 256
const longestText = 1024

/** A fault of one comparison; `at` is the JSON Pointer inside it. */
class LeafFault {
  readonly at: string
  readonly code: FaultCode
  readonly detail: string
  constructor(at: string, code: FaultCode, detail: string) {
    this.at = at
    this.code = code
    this.detail = detail
  }
}

/** One comparison as the module evaluates it. Adds a fault to `checking` and returns undefined if it is invalid. */
export function checkLeaf(
  source: Record<string, unknown>,
  pointer: string,
  checking: Checking,
): CheckedCondition | undefined {
  try {
    return checkedLeaf(source, checking)
  } catch (fault) {
    if (!(fault instanceof LeafFault)) throw fault
    const { at, code, detail } = fault
    checking.faults.push({ pointer: pointer + at, code, detail })
    return undefined
  }
}

function checkedLeaf(source: Record<string, unknown>, checking: Checking): CheckedCondition {
  const { attribute, operator } = source
  const type = typeOf(attribute, '/attribute', checking)
  const operators: readonly unknown[] = operatorsByType[type]
  if (!operators.includes(operator)) {
    const detail = `An attribute of type ${type} has the operators ${operators.join(', ')}.`
    throw new LeafFault('/operator', 'operator_not_allowed', detail)
  }
  const [compared, wanted] = comparisonOf(operator as string, type)
  const comparison: Comparison = { type, operator: operator as string, source, checking }
  const against = operand(comparison)
  const leaf = (
    operator === 'in_department'
      ? inDepartment(attribute as string, against)
      : { operator: compared, attribute: attribute as string, ...against, wanted }
  ) as Leaf
  return { leaf, costUs: costOf(leaf, checking.patternCostUs) }
}

interface Comparison {
  type: DataType
  operator: string
  source: Record<string, unknown>
  checking: Checking
}

function typeOf(name: unknown, at: string, { attributes }: Checking): DataType {
  const known = typeof name === 'string' ? attributes.get(name) : undefined
  if (known) return known.type
  const key = typeof name === 'string' ? withoutCase(name) : undefined
  const other = [...attributes.keys()].find((one) => withoutCase(one) === key)
  const detail = other
    ? `Names are compared exactly: this attribute is ${other}.`
    : `No attribute has this name. ${hintFor(name, attributes.keys())}`
  throw new LeafFault(at, 'unknown_attribute', detail)
}

function hintFor(name: unknown, known: Iterable<string>): string {
  const meant = typeof name === 'string' ? misspelt(name, known) : null
  return meant ? `Did you mean ${meant}?` : 'Write category.key, or define the attribute first.'
}

type Operand = Pick<Leaf, 'value' | 'from' | 'ends'>

/** The path of the department contains the other one, or one of a list. */
const inDepartment = (attribute: string, { value, from }: Operand): Leaf => ({
  operator: Array.isArray(value) ? 'overlaps' : 'has',
  attribute: pathName(attribute),
  ...(from === undefined ? { value: value! } : { from: departmentName(from) }),
  wanted: true,
})

function operand(comparison: Comparison): Operand {
  const { operator, source } = comparison
  const { value, value_from: from } = source
  const given = [value, from].filter((one) => one !== undefined && one !== null).length
  if (operator === 'exists' || operator === 'not_exists') {
    if (given === 0) return {}
    throw new LeafFault('', 'invalid', `${operator} takes no value.`)
  }
  if (given !== 1) throw new LeafFault('', 'required', 'Give either value or value_from.')
  return from !== undefined && from !== null ? fromAttribute(comparison, from) : constant(comparison, value)
}

// A pattern or a network from an attribute cannot be checked before it is used.
const onlyConstants = new Set(['between', 'matches', 'in_cidr', 'not_in_cidr'])

function fromAttribute({ type, operator, checking }: Comparison, from: unknown): Operand {
  if (onlyConstants.has(operator)) {
    throw new LeafFault('/value_from', 'operator_not_allowed', `${operator} works with value only.`)
  }
  const other = typeOf(from, '/value_from', checking)
  if (comparable(type, operator, other)) return { from: from as string }
  const detail = `${operator} cannot compare the types ${type} and ${other}.`
  throw new LeafFault('/value_from', 'type_mismatch', detail)
}

const isNumeric = (type: DataType) => type === 'integer' || type === 'number'

function comparable(type: DataType, operator: string, other: DataType): boolean {
  if (type === 'array' && operator === 'contains') return !['array', 'datetime', 'ip'].includes(other)
  if (operator === 'in' || operator === 'not_in') return other === 'array' || other === type
  return other === type || (isNumeric(type) && isNumeric(other))
}

function constant({ type, operator, checking }: Comparison, value: unknown): Operand {
  if (operator === 'between') return ends(type, value)
  if (operator === 'in_cidr' || operator === 'not_in_cidr') return { value: items(asListOf(value), network) }
  if (operator === 'matches') return { value: pattern(value, checking) }
  if (operator === 'in_department')
    return { value: Array.isArray(value) ? items(value, departmentId) : departmentId(value, '/value') }
  if (operator === 'in' || operator === 'not_in')
    return { value: items(value, (item, at) => scalar(type, item, at)) }
  if (type === 'array') {
    return operator === 'contains'
      ? { value: anyScalar(value, '/value') }
      : { value: items(value, anyScalar) }
  }
  const relative = relativeTime(type, value)
  return relative ? { from: relative } : { value: scalar(type, value, '/value') }
}

const asListOf = (value: unknown) => (Array.isArray(value) ? value : [value])

function items<T extends Scalar>(value: unknown, item: (value: unknown, at: string) => T): T[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw new LeafFault('/value', 'type_mismatch', 'This operator needs a list with at least one item.')
  }
  if (value.length > maxItems) {
    throw new LeafFault('/value', 'too_large', `A list has at most ${maxItems} items.`)
  }
  return value.map((one, index) => item(one, `/value/${index}`))
}

// A time relative to now, as the name of an attribute that every decision has.
function relativeTime(type: DataType, value: unknown): string | undefined {
  const away = type === 'datetime' && typeof value === 'string' ? relativeInstantOf(value) : undefined
  return away === undefined ? undefined : `now:${away}`
}

function ends(type: DataType, value: unknown): Operand {
  if (!Array.isArray(value) || value.length !== 2) {
    throw new LeafFault('/value', 'type_mismatch', 'between needs a list of two values, the lower one first.')
  }
  const relative = value.map((end) => relativeTime(type, end))
  const fixed = value.map((end, index) =>
    relative[index] ? 0 : (scalar(type, end, `/value/${index}`) as number),
  )
  if (relative.some((name) => name !== undefined)) {
    return { ends: relative.map((name, index) => name ?? `at:${fixed[index]}`) as [string, string] }
  }
  if ((fixed[0] as number) <= (fixed[1] as number)) return { value: fixed }
  throw new LeafFault('/value', 'invalid', 'The first value is above the second, so this is never true.')
}

function scalar(type: DataType, value: unknown, at: string): Scalar {
  const fits = type === 'string' ? text(value, at) : normalised(value, type)
  if (fits !== undefined) return fits as Scalar
  throw new LeafFault(at, 'type_mismatch', `This has to be ${examples[type]}.`)
}

const examples: Record<DataType, string> = {
  string: 'a text',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  datetime: 'a time such as 2026-01-31T08:00:00Z, now or now-24h',
  ip: 'an IP address',
  array: 'a list',
}

function text(value: unknown, at: string): string | undefined {
  if (typeof value !== 'string' || !value.isWellFormed() || value.includes('\0')) return undefined
  if (value.length <= longestText) return value
  throw new LeafFault(at, 'too_large', `A text has at most ${longestText} characters.`)
}

function anyScalar(value: unknown, at: string): Scalar {
  const fits = typeof value === 'boolean' || Number.isFinite(value) ? (value as Scalar) : text(value, at)
  if (fits !== undefined) return fits
  throw new LeafFault(at, 'type_mismatch', 'This has to be a text, a number, true or false.')
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function departmentId(value: unknown, at: string): string {
  const id = typeof value === 'string' ? value.toLowerCase() : ''
  if (uuid.test(id)) return id
  throw new LeafFault(at, 'type_mismatch', 'This has to be the id of a department.')
}

function network(value: unknown, at: string): string {
  const canonical = typeof value === 'string' ? canonicalNetwork(value) : undefined
  if (canonical !== undefined) return canonical
  throw new LeafFault(at, 'type_mismatch', 'This has to be a network such as 10.0.0.0/8 or 2001:db8::/32.')
}

function pattern(value: unknown, { patternCostUs }: Checking): string {
  if (typeof value !== 'string')
    throw new LeafFault('/value', 'type_mismatch', 'This has to be a pattern (RE2).')
  const fault = patternFault(value, patternCostUs)
  if (!fault) return value
  throw new LeafFault('/value', fault.code, fault.detail)
}
