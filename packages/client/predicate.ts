import type { Plan } from './api-types.ts'
import {
  type Comparison,
  NotTranslatable,
  type Target,
  type TranslationOptions,
  translated,
} from './filter.ts'

/** Whether a resource of your application is chosen: an object with its id, and its properties by key. */
export type Predicate = (resource: object) => boolean

/**
 * What a plan chooses, as a function of a resource with the properties that an evaluation would get; times are texts as in
 * RFC 3339, or Dates. Throws {@link NotTranslatable} for `matches`.
 */
export function predicateOf(plan: Plan, options: TranslationOptions = {}): Predicate {
  const target: Target<Predicate> = {
    all: (members) => (resource) => members.every((holds) => holds(resource)),
    any: (members) => (resource) => members.some((holds) => holds(resource)),
    not: (member) => (resource) => !member(resource),
    comparison(leaf, operator, wanted) {
      const read = reader(leaf, leaf.attribute, plan)
      if (operator === 'exists')
        return (resource) => {
          const value = read(resource)
          return wanted ? value !== missing && value !== invalid : value === missing
        }
      const compare = Object.hasOwn(comparisons, operator) ? comparisons[operator] : undefined
      if (!compare) throw new NotTranslatable(leaf, 'only the service compares patterns.')
      const operandOf =
        leaf.value_from === undefined ? constant(leaf, plan) : reader(leaf, leaf.value_from, plan)
      return (resource) => {
        const [value, operand] = [read(resource), operandOf(resource)]
        const isKnown = [value, operand].every((one) => one !== missing && one !== invalid)
        return isKnown && compare(value as Comparable, operand as Comparable) === wanted
      }
    },
  }
  return translated(plan, options, target)
}

const [missing, invalid] = [Symbol('missing'), Symbol('invalid')]
/** A value as the service compares it: times in ms, addresses as their bytes in hex. */
type Comparable = string | number | boolean | readonly (string | number | boolean)[]
type Value = Comparable | typeof missing | typeof invalid
type DataType = Plan['attributes'][string]

function reader(leaf: Comparison, name: string, { attributes }: Plan): (resource: object) => Value {
  const type = Object.hasOwn(attributes, name) ? attributes[name] : undefined
  if (!type || !name.startsWith('resource.')) throw new NotTranslatable(leaf, `${name} has no type.`)
  const key = name.slice('resource.'.length)
  return (resource) => {
    const value: unknown = Object.hasOwn(resource, key) ? resource[key as never] : null
    return value === null || value === undefined ? missing : (normalised[type](value) ?? invalid)
  }
}

function constant({ attribute, operator, value }: Comparison, { attributes }: Plan): () => Value {
  const type = attributes[attribute]!
  const isNetwork = operator.endsWith('in_cidr')
  const one = (item: unknown) =>
    type === 'datetime' || (type === 'ip' && !isNetwork) ? (normalised[type](item) ?? invalid) : item
  const operand = Array.isArray(value) ? value.map(one) : one(value)
  return () => (isNetwork ? [operand].flat() : operand) as Value
}

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= 1024 && !/\p{Surrogate}/u.test(value)
const isNumber = (value: unknown): value is number => Number.isFinite(value)
const isItem = (value: unknown) => isText(value) || isNumber(value) || typeof value === 'boolean'

const normalised: Readonly<Record<DataType, (value: unknown) => Comparable | undefined>> = {
  string: (value) => (isText(value) ? value : undefined),
  integer: (value) => (Number.isSafeInteger(value) ? (value as number) : undefined),
  number: (value) => (isNumber(value) ? value : undefined),
  boolean: (value) => (typeof value === 'boolean' ? value : undefined),
  datetime: (value) => (value instanceof Date ? instantOf(dateText(value)) : instantOf(value)),
  ip: (value) => (isText(value) ? addressOf(value) : undefined),
  array: (value) => (Array.isArray(value) && value.length <= 128 && value.every(isItem) ? value : undefined),
}

const dateText = (date: Date) => (Number.isNaN(date.getTime()) ? '' : date.toISOString())

const form =
  /^(\d{4}-\d\d-(\d\d))[Tt]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(\.\d{1,9})?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** The ms since 1970 of an RFC 3339 text. */
function instantOf(text: unknown): number | undefined {
  const [, date, day, time, fraction = '', zone = ''] = (typeof text === 'string' && form.exec(text)) || []
  if (new Date(`${date}T00:00:00Z`).getUTCDate() !== Number(day)) return undefined
  return Date.parse(`${date}T${time}${fraction.slice(0, 4)}${zone.toUpperCase()}`)
}

const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/
const mapped = /^0{80}1{16}/

/** The bits of an IP address, 32 or 128 characters. A mapped IPv4 address is that address. */
function addressOf(text: string): string | undefined {
  if (ipv4.test(text)) return bits(text.split('.').map(Number), 8)
  // A URL has the rules of IPv6, and strips white space.
  if (!/^[\da-f:.]+$/i.test(text) || !URL.canParse(`http://[${text}]`)) return undefined
  const [head = '', tail] = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::')
  const [first, last] = [head, tail ?? ''].map((part) => part.split(':').filter(Boolean)) as [
    string[],
    string[],
  ]
  const zeros = Array<string>(8 - first.length - last.length).fill('0')
  const all = bits(
    [...first, ...zeros, ...last].map((group) => Number.parseInt(group, 16)),
    16,
  )
  return mapped.test(all) ? all.slice(96) : all
}

const bits = (numbers: readonly number[], each: number) =>
  numbers.map((number) => number.toString(2).padStart(each, '0')).join('')

function isWithin(address: string, network: string): boolean {
  const [start = '', length] = network.split('/')
  const own = addressOf(start)
  return own?.length === address.length && address.startsWith(own.slice(0, Number(length)))
}

// biome-ignore lint/suspicious/noExplicitAny: the types of attributes say which values an operator gets
const comparisons: Readonly<Record<string, (value: any, operand: any) => boolean>> = {
  eq: (value, operand) => value === operand,
  in: (value, list) => list.includes(value),
  lt: (value, operand) => value < operand,
  lte: (value, operand) => value <= operand,
  between: (value, [from, to]) => value >= from && value <= to,
  // Of a text or a list.
  contains: (value, operand) => value.includes(operand),
  starts_with: (value, operand) => value.startsWith(operand),
  ends_with: (value, operand) => value.endsWith(operand),
  contains_any: (list: unknown[], other: unknown[]) => list.some((item) => other.includes(item)),
  contains_all: (list: unknown[], other: unknown[]) => other.every((item) => list.includes(item)),
  subset_of: (list: unknown[], other: unknown[]) => list.every((item) => other.includes(item)),
  in_cidr: (address, networks: string[]) => networks.some((network) => isWithin(address, network)),
}
