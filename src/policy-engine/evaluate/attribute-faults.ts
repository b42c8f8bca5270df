import type { DataType } from '../compile/conditions.ts'
import { attributeOf, derivedFrom } from '../compile/departments.ts'
import { attributesOf, longestList, longestText, rawAttributes } from './attributes.ts'
import type { AnyQuery, SentAttributes } from './query.ts'

/** An attribute with a value that is not of the type that policies read, so that it counts as missing. */
export interface IllTyped {
  name: string
  expected: DataType | 'department'
  /** the type of the value in JSON, and what is wrong with it if the type is not */
  got: string
}

/** What is wrong with the attributes that the policies of a query read; 64 of each at most. */
export interface AttributeFaults {
  missing: string[]
  illTyped: IllTyped[]
  /** sent with the query, but another value counts, or none */
  ignored: string[]
}

const max = 64

/** The attributes without a value, and those with one of another type, among the wanted ones. */
export function valueFaults(
  query: AnyQuery,
  wanted: Readonly<Record<string, DataType>>,
): Pick<AttributeFaults, 'missing' | 'illTyped'> {
  const values = attributesOf(query, wanted)
  const faulty = Object.keys(wanted).filter((name) => (values[name] ?? null) === null)
  // One attribute can be read in several forms: itself, and the path of the department that it names.
  const forms = new Map(faulty.map((name) => [attributeOf(name), name]))
  const given = rawAttributes(query, [...forms.keys()])
  const missing = [...forms.keys()].filter((name) => !Object.hasOwn(given, name))
  const illTyped = [...forms].flatMap(([name, form]) =>
    Object.hasOwn(given, name) ? [illTypedAs(name, form, wanted[form]!, given[name])] : [],
  )
  return { missing: missing.slice(0, max), illTyped: illTyped.slice(0, max) }
}

/** The faults of a query to the policies of its slice. */
export const attributeFaults = (query: AnyQuery): AttributeFaults => ({
  ...valueFaults(query, query.slice.attributes),
  ignored: ignoredAmong(query, Object.keys(query.slice.attributes)),
})

/**
 * Those of the attributes that a query sent and that do not count, because the service or the tenant has the value. Values are not
 * compared: equal ones are named too, so that the list tells no value.
 */
export function ignoredAmong(query: AnyQuery, read: readonly string[]): string[] {
  const names = new Set(read.map(attributeOf))
  const sent = [...names].filter((name) => isGiven(query.offered, name))
  if (sent.length === 0) return []
  const values = rawAttributes(query, sent)
  const others = rawAttributes({ ...query, sent: undefined } as AnyQuery, sent)
  return sent.filter((name) => !Object.hasOwn(values, name) || Object.hasOwn(others, name)).slice(0, max)
}

function isGiven(offered: SentAttributes | undefined, name: string): boolean {
  const dot = name.indexOf('.')
  const values = offered?.[name.slice(0, dot) as keyof SentAttributes] ?? {}
  const key = name.slice(dot + 1)
  return Object.hasOwn(values, key) && values[key] !== undefined && values[key] !== null
}

const illTypedAs = (name: string, form: string, type: DataType, value: unknown): IllTyped =>
  derivedFrom(form)
    ? {
        name,
        expected: 'department',
        got: typeof value === 'string' ? 'unknown department' : typeName(value),
      }
    : { name, expected: type, got: gotOf(value, type) }

const typeName = (value: unknown) => (Array.isArray(value) ? 'array' : typeof value)

function gotOf(value: unknown, type: DataType): string {
  if (type === 'array' && Array.isArray(value))
    return value.length > longestList ? `array of more than ${longestList} values` : 'array of other values'
  if (typeof value !== 'string' || type !== 'string') return typeName(value)
  return value.length > longestText ? `string of more than ${longestText} characters` : 'ill-formed string'
}
