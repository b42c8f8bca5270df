import type { Leaf } from './compiled-policy.ts'
import type { DataType, Scalar } from './conditions.ts'

/** What is known of the values that an attribute can have. */
export interface Domain {
  type: DataType
  allowed?: readonly Scalar[] | null
  min?: number
  max?: number
}

/** Numbers between two ends; an open end is not included. */
interface Interval {
  low: number
  lowOpen: boolean
  high: number
  highOpen: boolean
}

/**
 * The values of one attribute for which a comparison holds: these items, all but these, or the numbers of some intervals.
 * `missing`: it holds if the attribute has no value.
 */
export interface ValueSet {
  missing: boolean
  values: { items: ReadonlySet<Scalar>; except: boolean } | { intervals: readonly Interval[] }
}

const everything = { items: new Set<Scalar>(), except: true }
const nothing = { items: new Set<Scalar>(), except: false }

/** The values for which a comparison with constants holds; undefined for any other comparison. */
export function valuesOf({ o, v, f, e, w }: Leaf, domain: Domain): ValueSet | undefined {
  if (o === 'exists') return w ? { missing: false, values: everything } : { missing: true, values: nothing }
  if (f !== undefined || e !== undefined || v === undefined || v === null) return undefined
  if (o === 'eq' || o === 'in') {
    const items = [v].flat()
    const values = isNumeric(domain)
      ? numbers(
          items.map((item) => point(Number(item))),
          w,
          domain,
        )
      : { items: new Set(items), except: !w }
    return { missing: false, values }
  }
  const interval = intervalOf(o, v)
  return interval && { missing: false, values: numbers([interval], w, domain) }
}

const isNumeric = ({ type }: Domain) => type === 'integer' || type === 'number' || type === 'datetime'

const point = (at: number): Interval => ({ low: at, lowOpen: false, high: at, highOpen: false })
const all: Interval = { low: -Infinity, lowOpen: false, high: Infinity, highOpen: false }

function intervalOf(o: Leaf['o'], v: Leaf['v']): Interval | undefined {
  if (o === 'lt') return { ...all, high: Number(v), highOpen: true }
  if (o === 'lte') return { ...all, high: Number(v) }
  if (o !== 'between' || !Array.isArray(v)) return undefined
  return { low: Number(v[0]), lowOpen: false, high: Number(v[1]), highOpen: false }
}

function numbers(intervals: Interval[], wanted: boolean, domain: Domain): ValueSet['values'] {
  const held = wanted ? intervals : complementOf(intervals)
  return { intervals: held.map((one) => (domain.type === 'integer' ? closed(one) : one)).filter(isFilled) }
}

/** Of whole numbers, an open end is the next one. */
const closed = ({ low, lowOpen, high, highOpen }: Interval): Interval => ({
  low: lowOpen ? Math.floor(low) + 1 : Math.ceil(low),
  lowOpen: false,
  high: highOpen ? Math.ceil(high) - 1 : Math.floor(high),
  highOpen: false,
})

const isFilled = ({ low, lowOpen, high, highOpen }: Interval) =>
  low < high || (low === high && !lowOpen && !highOpen && Number.isFinite(low))

function overlap(one: Interval, other: Interval): Interval {
  const later = one.low > other.low || (one.low === other.low && one.lowOpen) ? one : other
  const sooner = one.high < other.high || (one.high === other.high && one.highOpen) ? one : other
  return { low: later.low, lowOpen: later.lowOpen, high: sooner.high, highOpen: sooner.highOpen }
}

const common = (one: readonly Interval[], other: readonly Interval[]): Interval[] =>
  one.flatMap((each) => other.map((more) => overlap(each, more))).filter(isFilled)

const complementOf = (intervals: readonly Interval[]): Interval[] =>
  intervals.reduce<Interval[]>(
    (left, { low, lowOpen, high, highOpen }) =>
      common(left, [
        { low: -Infinity, lowOpen: false, high: low, highOpen: !lowOpen },
        { low: high, lowOpen: !highOpen, high: Infinity, highOpen: false },
      ]),
    [all],
  )

/** The values in both sets. */
export function intersection(one: ValueSet, other: ValueSet): ValueSet {
  return { missing: one.missing && other.missing, values: commonValues(one.values, other.values) }
}

type Values = ValueSet['values']

function commonValues(one: Values, other: Values): Values {
  if ('intervals' in one && 'intervals' in other) return { intervals: common(one.intervals, other.intervals) }
  if ('intervals' in one || 'intervals' in other) {
    const [items, intervals] = 'intervals' in one ? [other, one] : [one, other]
    // Of a number, the only items are everything and nothing.
    return 'except' in items && items.except ? intervals : nothing
  }
  if (one.except && other.except) return { items: new Set([...one.items, ...other.items]), except: true }
  const [some, filter] = one.except ? [other, one] : [one, other]
  const kept = [...some.items].filter((item) => filter.items.has(item) !== filter.except)
  return { items: new Set(kept), except: false }
}

/** The values in neither set. */
export const complement = ({ missing, values }: ValueSet): ValueSet => ({
  missing: !missing,
  values:
    'intervals' in values
      ? { intervals: complementOf(values.intervals) }
      : { ...values, except: !values.except },
})

/** Whether an attribute of this domain never has one of the values, and never is missing if that counts. */
export function isEmpty({ missing, values }: ValueSet, domain: Domain): boolean {
  if (missing) return false
  if ('intervals' in values)
    return common(values.intervals, [domainInterval(domain)])
      .map((one) => (domain.type === 'integer' ? closed(one) : one))
      .every((one) => !isFilled(one) || !hasAllowed(one, domain))
  const universe = domain.type === 'boolean' ? [true, false] : (domain.allowed ?? null)
  if (universe) return universe.every((item) => values.items.has(item) === values.except)
  return !values.except && values.items.size === 0
}

const domainInterval = ({ min = -Infinity, max = Infinity }: Domain): Interval => ({
  low: min,
  lowOpen: false,
  high: max,
  highOpen: false,
})

const hasAllowed = ({ low, lowOpen, high, highOpen }: Interval, { allowed }: Domain): boolean =>
  !allowed ||
  allowed.some((item) => {
    const value = Number(item)
    return (lowOpen ? value > low : value >= low) && (highOpen ? value < high : value <= high)
  })
