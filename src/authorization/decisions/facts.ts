import { builtInAttributes } from '../../platform/access/built-in-attributes.ts'
import type { Slice } from '../../platform/access/compiled-policy.ts'
import type { AnyQuery, Resource, SentAttributes } from '../../platform/access/query.ts'

/** A question as it was asked, without the policies: enough to explain the answer and to ask again. */
export type Facts = Omit<AnyQuery, 'slice' | 'approval' | 'requestId' | 'now'> & {
  application?: true
  sent?: SentAttributes
  /** the attributes that the policies of then looked at: of rows and callers no others are kept */
  looked: readonly string[]
}

const maxBytes = 16 * 1024

/**
 * The facts of a question. Of what callers and rows bring along only the attributes that a policy looked at are kept:
 * the log is no copy of the data.
 */
export function factsOf(query: AnyQuery): Facts {
  const { slice, approval: _approval, requestId: _request, now: _now, ...rest } = query
  const looked = Object.keys(slice.attributes)
  const kept = (category: string, values: Readonly<Record<string, unknown>> | undefined) =>
    Object.fromEntries(
      Object.entries(values ?? {}).filter(([key]) => Object.hasOwn(slice.attributes, `${category}.${key}`)),
    )
  const resource: Resource = { ...query.resource, fields: kept('resource', query.resource.fields) }
  const facts: Facts = { ...rest, resource, looked }
  if ('sent' in query && query.sent)
    facts.sent = Object.fromEntries(
      Object.entries(query.sent).map(([category, values]) => [category, kept(category, values)]),
    )
  if (Buffer.byteLength(JSON.stringify(facts)) <= maxBytes) return facts
  const { sent: _sent, ...small } = facts
  return { ...small, resource: { ...resource, fields: {} }, looked: [] }
}

/** What every question carries, whatever policies there are. */
const alwaysThere = (name: string): boolean =>
  (builtInAttributes.has(name) && !name.startsWith('resource.')) ||
  name === 'resource.type' ||
  name === 'resource.id' ||
  name.startsWith('now')

/**
 * The question of a recorded decision, to be asked with other policies; null where these look at what was not
 * recorded.
 */
export function queryFrom(
  row: { request_id: string; at: number; facts: Facts },
  slice: Slice,
): AnyQuery | null {
  const { looked, ...facts } = row.facts
  const known = (name: string) =>
    alwaysThere(name) ||
    looked.includes(name) ||
    (name.startsWith('subject.') && facts.subject.membership !== null)
  if (!Object.keys(slice.attributes).every(known)) return null
  return { ...facts, slice, requestId: row.request_id, now: row.at } as AnyQuery
}
