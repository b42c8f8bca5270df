import { builtInAttributes } from '../../policy-engine/catalogue/built-in-attributes.ts'
import type { Slice } from '../../policy-engine/compile/compiled-policy.ts'
import { attributeOf, derivedFrom, pathName } from '../../policy-engine/compile/departments.ts'
import {
  type AttributeFaults,
  attributeFaults,
  ignoredAmong,
} from '../../policy-engine/evaluate/attribute-faults.ts'
import { attributesOf } from '../../policy-engine/evaluate/attributes.ts'
import type { AnyQuery, Membership, Resource, SentAttributes } from '../../policy-engine/evaluate/query.ts'
import type { UnknownWords } from '../../request/policies-in-force.ts'

/** A recorded query without its policies: enough to explain the answer and to decide again. */
type WholeFacts = Omit<AnyQuery, 'slice' | 'approval' | 'requestId' | 'now' | 'departments' | 'offered'> & {
  application?: true
  sent?: SentAttributes
  /**
   * the attributes that the policies read then, also those in shadow mode; of rows and callers, no other values are
   * kept
   */
  looked: readonly string[]
  /** the departments that the policies read, with their parents at that time */
  departments?: Readonly<Record<string, string | null>>
  unknown?: UnknownWords
} & Partial<AttributeFaults>

/** Replaces facts that are too large, and those of an erased person. Only the other columns are known. */
interface NoFacts {
  cut: true
}

export type Facts = WholeFacts | NoFacts

const maxBytesOfService = 16 * 1024

/**
 * The facts of a query. Of the values from callers and rows, only those that a policy reads are kept, so that the log
 * does not copy the tenant's data. Their JSON has at most `maxBytes` for a query of an application, and 16 KiB
 * otherwise. If it is longer, these values are left out, and if it is still too long, all facts are.
 */
export function factsOf(
  query: AnyQuery,
  maxBytes: number,
  unknown?: UnknownWords,
  faults = attributeFaults(query),
): Facts {
  const facts = wholeFacts(query)
  // Those that policies in shadow mode read, too: a preview names them.
  const ignored = ignoredAmong(query, facts.looked)
  const named = Object.entries({ ...faults, ignored }).filter(([, found]) => found.length > 0)
  const whole = { ...facts, ...Object.fromEntries(named), ...(unknown && { unknown }) }
  const max = 'application' in query ? maxBytes : maxBytesOfService
  return [whole, withoutValues(whole)].find((facts) => bytesOf(facts) <= max) ?? { cut: true }
}

const bytesOf = (facts: Facts) => Buffer.byteLength(JSON.stringify(facts))

function wholeFacts(query: AnyQuery): WholeFacts {
  const {
    slice,
    approval: _approval,
    requestId: _request,
    now: _now,
    departments: _,
    offered: _offered,
    // The row is the subject's, and is erased with them.
    askedBy: _asker,
    ...rest
  } = withoutActor(query)
  const looked = attributesRead(slice)
  const kept = (category: string, values: Readonly<Record<string, unknown>> | undefined) =>
    Object.fromEntries(Object.entries(values ?? {}).filter(([key]) => looked.has(`${category}.${key}`)))
  const resource: Resource = { ...query.resource, fields: kept('resource', query.resource.fields) }
  const departments = departmentsRead(query, looked)
  const facts: WholeFacts = {
    ...rest,
    resource,
    looked: [...looked],
    ...(departments && { departments }),
  }
  if ('sent' in query && query.sent)
    facts.sent = Object.fromEntries(
      Object.entries(query.sent).map(([category, values]) => [category, kept(category, values)]),
    )
  return facts
}

/** Policies in shadow mode read too: what they read is needed to preview them. */
const attributesRead = ({ attributes, shadows }: Slice): ReadonlySet<string> =>
  new Set([attributes, ...shadows.map(({ policy }) => policy.compiled.attributes)].flatMap(Object.keys))

/** Who acted as the subject stays out: the row is the subject's, and is erased with them. */
const withoutActor = (query: AnyQuery): AnyQuery => {
  const { session } = query.subject
  if (!session?.actor) return query
  const { actor: _actor, ...facts } = session
  return { ...query, subject: { ...query.subject, session: facts } } as AnyQuery
}

function departmentsRead(query: AnyQuery, looked: ReadonlySet<string>): WholeFacts['departments'] {
  if (!query.slice.departments) return undefined
  const paths = [...looked].flatMap((name) => {
    if (name === 'subject.department_path') return [pathName('subject.department_id')]
    return derivedFrom(name) ? [pathName(attributeOf(name))] : []
  })
  const values = attributesOf(query, Object.fromEntries(paths.map((name) => [name, 'array'])))
  const parents = Object.values(values).flatMap((path) =>
    Array.isArray(path) ? path.map((id, index) => [id, path[index + 1] ?? null] as const) : [],
  )
  return parents.length > 0 ? Object.fromEntries(parents) : undefined
}

/** Without the values of rows, members and callers: can be decided again if no policy reads such values. */
function withoutValues({ sent: _sent, resource, subject, ...facts }: WholeFacts): WholeFacts {
  const { attributes: _attributes, ...membership } = subject.membership ?? {}
  return {
    ...facts,
    resource: { ...resource, fields: {} },
    subject: { ...subject, membership: subject.membership && (membership as Membership) },
    looked: [],
  } as WholeFacts
}

/** Whether every recorded query has this attribute. */
const alwaysThere = (name: string): boolean =>
  (builtInAttributes.has(name) && !name.startsWith('resource.')) ||
  name === 'resource.type' ||
  name === 'resource.id' ||
  name.startsWith('now')

/**
 * The attributes that the policies of a slice, or one policy, read and that were not recorded; all of them if no facts
 * were.
 */
export function notRecorded(facts: Facts, slice: Pick<Slice, 'attributes'>): string[] {
  const read = [...new Set(Object.keys(slice.attributes).map(attributeOf))]
  if ('cut' in facts) return read
  const { membership } = facts.subject
  const known = (name: string) =>
    (name === 'subject.manager_id'
      ? membership === null || membership.managerId !== undefined
      : alwaysThere(name)) ||
    facts.looked.includes(name) ||
    (name.startsWith('subject.') && membership?.attributes !== undefined && !builtInAttributes.has(name))
  return read.filter((name) => !known(name))
}

/**
 * The query of a recorded decision, to decide it with other policies; null if they read an attribute that was not
 * recorded. Departments that were not recorded are those of `slice`, as they are now.
 */
export function queryFrom(
  row: { request_id: string; at: number; facts: Facts },
  slice: Slice,
): AnyQuery | null {
  if ('cut' in row.facts || notRecorded(row.facts, slice).length > 0) return null
  const { looked: _looked, unknown: _unknown, departments, ...whole } = row.facts
  const { missing: _missing, illTyped: _illTyped, ignored: _ignored, ...facts } = whole
  return {
    ...facts,
    slice,
    requestId: row.request_id,
    now: row.at,
    ...(departments && { departments: new Map(Object.entries(departments)) }),
  } as AnyQuery
}
