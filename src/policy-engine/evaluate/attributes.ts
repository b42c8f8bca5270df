import { canonicalAddress } from '../compile/addresses.ts'
import type { DataType, Scalar } from '../compile/conditions.ts'
import { departmentPath, derivedFrom } from '../compile/departments.ts'
import { instantOf } from '../compile/instants.ts'
import { localTime } from './local-time.ts'
import type { AnyQuery, SentAttributes } from './query.ts'

/** The value of an attribute as policies compare it: times in ms, addresses in canonical spelling. */
export type AttributeValue = Scalar | Scalar[]

/** Longer texts prove nothing. */
export const longestText = 1024
/** More values than the roles that one member can have. */
export const longestList = 128

/**
 * The values of the wanted attributes (default: those that the query's slice reads), normalised to their declared
 * types. `now:<ms>` and `at:<ms>` name times to compare with, `path:` and `department:` departments. A missing value is absent. A value of another type, or
 * too long, is null, so that it proves nothing, not even `not_exists`.
 */
export function attributesOf(
  query: AnyQuery,
  wanted: Readonly<Record<string, DataType>> = query.slice.attributes,
): Record<string, AttributeValue | null> {
  const values: Record<string, AttributeValue | null> = {}
  for (const [name, type] of Object.entries(wanted)) {
    const value = raw(query, name)
    if (value !== undefined && value !== null) values[name] = normalised(value, type) ?? null
  }
  return values
}

/** The values of attributes as they are, before they are normalised: times as RFC 3339 texts. A missing value is absent. */
export function rawAttributes(query: AnyQuery, names: readonly string[]): Record<string, unknown> {
  const values = names.map((name) => [name, raw(query, name)] as const)
  return Object.fromEntries(
    values
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name, value]) => [name, value instanceof Date ? value.toISOString() : value]),
  )
}

/** A value as policies compare it; undefined if it is not of the declared type. */
export function normalised(value: unknown, type: DataType): AttributeValue | undefined {
  if (type === 'string') return isText(value) ? value : undefined
  if (type === 'boolean') return typeof value === 'boolean' ? value : undefined
  if (type === 'integer') return Number.isSafeInteger(value) ? (value as number) : undefined
  if (type === 'number') return Number.isFinite(value) ? (value as number) : undefined
  if (type === 'datetime') return instant(value)
  if (type === 'ip') return isText(value) ? canonicalAddress(value) : undefined
  return isList(value) ? value : undefined
}

// A text with a lone surrogate aborts the module.
const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= longestText && value.isWellFormed()

const isScalar = (value: unknown): value is Scalar =>
  isText(value) || typeof value === 'boolean' || Number.isFinite(value)

const isList = (value: unknown): value is Scalar[] =>
  Array.isArray(value) && value.length <= longestList && value.every(isScalar)

function instant(value: unknown): number | undefined {
  if (typeof value === 'string') return instantOf(value)
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.getTime()
  return undefined
}

function raw(query: AnyQuery, name: string): unknown {
  if (name.startsWith('now:')) return new Date(query.now + Number(name.slice(4)))
  if (name.startsWith('at:')) return new Date(Number(name.slice(3)))
  const known = builtIn[name]?.(query)
  if (known !== undefined && known !== null) return known
  if (name in builtIn && name !== 'resource.owner_id') return undefined
  const derived = derivedFrom(name)
  if (derived) return departmentOf(query, derived.type, raw(query, derived.attribute))
  const dot = name.indexOf('.')
  return given(query, name.slice(0, dot) as keyof SentAttributes, name.slice(dot + 1))
}

/** The department that a value names: its path, or its id; undefined if the tenant does not have it. */
function departmentOf(query: AnyQuery, type: DataType, id: unknown): string | string[] | undefined {
  if (typeof id !== 'string') return undefined
  const recorded = query.departments?.has(id.toLowerCase()) ? query.departments : null
  const departments = recorded ?? query.slice.departments
  const path = departments ? departmentPath(departments, id) : undefined
  return type === 'array' ? path : path?.[0]
}

// The stored value of a member or a resource comes first; a value that an application sends never replaces it.
function given(query: AnyQuery, category: keyof SentAttributes, key: string): unknown {
  const stored = category === 'subject' ? query.subject.membership?.attributes : undefined
  const known = category === 'resource' ? query.resource.fields : stored
  const own = ownValue(known, key)
  if (own !== undefined && own !== null) return own
  return 'application' in query ? ownValue(query.sent?.[category], key) : undefined
}

const ownValue = (values: Readonly<Record<string, unknown>> | undefined, key: string) =>
  values && Object.hasOwn(values, key) ? values[key] : undefined

const local = ({ now, tenant }: AnyQuery) => localTime(now, tenant?.timeZone ?? 'UTC')
const age = ({ now, subject }: AnyQuery) =>
  subject.session && Math.max(0, Math.floor((now - subject.session.authTime) / 1000))
const joined = ({ subject }: AnyQuery) => subject.membership && new Date(subject.membership.joinedAt)
const departmentPathOf = (query: AnyQuery) =>
  departmentOf(query, 'array', query.subject.membership?.departmentId)
// A tenant can have defined these keys before they were built in. Its own values stay in force.
const ownOr =
  (key: string, value: (query: AnyQuery) => unknown) =>
  (query: AnyQuery): unknown =>
    ownValue(query.subject.membership?.attributes, key) ?? value(query)
const roles = ({ subject }: AnyQuery) => subject.membership?.roles ?? subject.membership?.systemRoles

const builtIn: Readonly<Record<string, (query: AnyQuery) => unknown>> = Object.freeze({
  __proto__: null as never,
  'subject.id': ({ subject }: AnyQuery) => subject.id,
  // Anyone can register with any address, so an unverified one proves nothing.
  'subject.email': ({ subject }: AnyQuery) => (subject.emailVerified ? subject.email : undefined),
  'subject.email_verified': ({ subject }: AnyQuery) => subject.emailVerified,
  'subject.roles': roles,
  'subject.department_id': ({ subject }: AnyQuery) => subject.membership?.departmentId,
  'subject.department_path': ownOr('department_path', departmentPathOf),
  'subject.manager_id': ownOr('manager_id', ({ subject }) => subject.membership?.managerId),
  'subject.membership_status': ({ subject }: AnyQuery) => subject.membership?.status,
  'subject.joined_at': joined,
  'subject.acr': ({ subject }: AnyQuery) => subject.session?.acr,
  'subject.auth_age': age,
  'resource.type': ({ resource }: AnyQuery) => resource.type,
  'resource.id': ({ resource }: AnyQuery) => resource.id,
  'resource.owner_id': ({ resource }: AnyQuery) => resource.ownerId,
  'action.name': ({ action }: AnyQuery) => action,
  'environment.time': ({ now }: AnyQuery) => new Date(now),
  'environment.hour': (query: AnyQuery) => local(query)?.hour,
  'environment.weekday': (query: AnyQuery) => local(query)?.weekday,
  'environment.ip': ({ environment }: AnyQuery) => environment.ip,
  'environment.user_agent': ({ environment }: AnyQuery) => environment.userAgent,
})
