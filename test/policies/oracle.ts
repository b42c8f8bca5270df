import { BlockList, isIPv4, isIPv6 } from 'node:net'
import type { Condition, ConditionLeaf, DataType } from '../../src/policy-engine/compile/conditions.ts'

/**
 * A second, independent interpreter of conditions: it evaluates the source tree in three-valued logic, to compare the
 * result with the compiled policies. It never decides in the service.
 */
export type Verdict = true | false | 'error'

export interface World {
  types: Readonly<Record<string, DataType>>
  /** as sent, not normalised */
  values: Readonly<Record<string, unknown>>
  now: number
  /** parents by department */
  departments?: ReadonlyMap<string, string | null>
}

/** Kleene's logic: false decides an `all`, true an `any`; an error decides nothing. */
export function verdictOf(condition: Condition | null, world: World): Verdict {
  if (condition === null) return true
  if ('all' in condition) return all(condition.all.map((one) => verdictOf(one, world)))
  if ('any' in condition) return not(all(condition.any.map((one) => not(verdictOf(one, world)))))
  if ('none' in condition) return all(condition.none.map((one) => not(verdictOf(one, world))))
  return leafVerdict(condition, world)
}

/** An allow applies only when its condition is true; a deny and a gate unless it is false. */
export const applies = (effect: string, verdict: Verdict) =>
  effect === 'allow' ? verdict === true : verdict !== false

function all(verdicts: Verdict[]): Verdict {
  if (verdicts.includes(false)) return false
  return verdicts.includes('error') ? 'error' : true
}

const not = (verdict: Verdict): Verdict => (verdict === 'error' ? 'error' : !verdict)

function leafVerdict(leaf: ConditionLeaf, world: World): Verdict {
  const type = world.types[leaf.attribute] as DataType
  const value = typed(world.values[leaf.attribute], type)
  const given = (world.values[leaf.attribute] ?? undefined) !== undefined
  if (leaf.operator === 'not_exists' && !given) return true
  if (leaf.operator === 'exists' && !given) return false
  if (value === undefined) return 'error'
  if (leaf.operator === 'exists' || leaf.operator === 'not_exists') return leaf.operator === 'exists'
  const operand = operandOf(leaf, type, world)
  if (leaf.operator === 'in_department') return inDepartment(leaf, value, operand, world)
  return operand === undefined ? 'error' : compared(leaf.operator, type, value, operand)
}

/** Goes up from the department; an attribute on either side has to name a department that exists. */
function inDepartment(leaf: ConditionLeaf, value: unknown, operand: unknown, world: World): Verdict {
  const departments = world.departments ?? new Map()
  const exists = (id: unknown) => departments.has(String(id).toLowerCase())
  if (operand === undefined || !exists(value)) return 'error'
  if (leaf.value_from !== undefined && !exists(operand)) return 'error'
  const wanted = [operand].flat().map((id) => String(id).toLowerCase())
  for (let at = String(value).toLowerCase(); ; at = departments.get(at)) {
    if (wanted.includes(at)) return true
    if (!departments.get(at)) return false
  }
}

function operandOf(leaf: ConditionLeaf, type: DataType, world: World): unknown {
  if (leaf.value_from !== undefined) {
    return typed(world.values[leaf.value_from], world.types[leaf.value_from] as DataType)
  }
  if (type !== 'datetime') return leaf.value
  const time = (text: unknown) =>
    String(text).startsWith('now') ? relative(String(text), world.now) : Date.parse(String(text))
  return Array.isArray(leaf.value) ? leaf.value.map(time) : time(leaf.value)
}

function relative(text: string, now: number): number {
  if (text === 'now') return now
  const amount = Number.parseInt(text.slice(3), 10)
  const unit = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }[text.at(-1) as 's']
  return now + amount * unit * 1000
}

function typed(value: unknown, type: DataType): unknown {
  if (value === null || value === undefined) return undefined
  switch (type) {
    case 'string':
      return typeof value === 'string' && value.isWellFormed() ? value : undefined
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined
    case 'integer':
      return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) ? value : undefined
    case 'datetime':
      return typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(Date.parse(value))
        ? Date.parse(value)
        : undefined
    case 'ip':
      return typeof value === 'string' && (isIPv4(value) || (isIPv6(value) && !value.includes('%')))
        ? value
        : undefined
    case 'array':
      return Array.isArray(value) &&
        value.every((one) => ['string', 'number', 'boolean'].includes(typeof one))
        ? value
        : undefined
  }
}

function compared(operator: string, type: DataType, value: unknown, operand: unknown): Verdict {
  const [v, o] = [value as number, operand as number]
  const list = operand as unknown[]
  const values = value as unknown[]
  switch (operator) {
    case 'eq':
      return type === 'ip' ? inside(value, [operand]) : value === operand
    case 'ne':
      return type === 'ip' ? !inside(value, [operand]) : value !== operand
    case 'in':
      return Array.isArray(list) ? list.includes(value) : 'error'
    case 'not_in':
      return Array.isArray(list) ? !list.includes(value) : 'error'
    case 'lt':
      return v < o
    case 'lte':
      return v <= o
    case 'gt':
      return v > o
    case 'gte':
      return v >= o
    case 'between':
      return v >= (list[0] as number) && v <= (list[1] as number)
    case 'starts_with':
      return String(value).startsWith(String(operand))
    case 'ends_with':
      return String(value).endsWith(String(operand))
    case 'matches':
      return new RegExp(String(operand), 'u').test(String(value))
    case 'contains':
      return type === 'array' ? values.includes(operand) : String(value).includes(String(operand))
    case 'contains_any':
      return values.some((one) => list.includes(one))
    case 'contains_all':
      return list.every((one) => values.includes(one))
    case 'subset_of':
      return values.every((one) => list.includes(one))
    case 'in_cidr':
      return inside(value, [operand].flat())
    case 'not_in_cidr':
      return !inside(value, [operand].flat())
    default:
      throw new Error(`the oracle does not know ${operator}`)
  }
}

function inside(address: unknown, networks: unknown[]): boolean {
  const plain = unmapped(String(address))
  const family = isIPv4(plain) ? 'ipv4' : 'ipv6'
  return networks.some((network) => {
    const [base = '', prefix] = unmapped(String(network)).split('/')
    const other = isIPv4(base) ? 'ipv4' : 'ipv6'
    const block = new BlockList()
    block.addSubnet(base, prefix === undefined ? (other === 'ipv4' ? 32 : 128) : Number(prefix), other)
    return other === family && block.check(plain, family)
  })
}

const unmapped = (address: string) =>
  address
    .replace(/^::ffff:(?=\d+\.)/i, '')
    .replace(/^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i, (_all, high, low) =>
      [high, low]
        .map((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 255].join('.'))
        .join('.'),
    )
