import type { AnyQuery, Resource, SentAttributes } from '../../platform/access/query.ts'

/** A question as it was asked, without the policies: enough to explain the answer and to ask again. */
export type Facts = Omit<AnyQuery, 'slice' | 'approval' | 'requestId' | 'now'> & {
  application?: true
  sent?: SentAttributes
}

const mostBytes = 16 * 1024

/**
 * The facts of a question. Of what callers and rows bring along only the attributes that a policy looked at are kept:
 * the log is no copy of the data.
 */
export function factsOf(query: AnyQuery): Facts {
  const { slice, approval: _approval, requestId: _request, now: _now, ...rest } = query
  const looked = (category: string, values: Readonly<Record<string, unknown>> | undefined) =>
    Object.fromEntries(
      Object.entries(values ?? {}).filter(([key]) => Object.hasOwn(slice.attributes, `${category}.${key}`)),
    )
  const resource: Resource = { ...query.resource, fields: looked('resource', query.resource.fields) }
  const facts: Facts = { ...rest, resource }
  if ('sent' in query && query.sent)
    facts.sent = Object.fromEntries(
      Object.entries(query.sent).map(([category, values]) => [category, looked(category, values)]),
    )
  if (Buffer.byteLength(JSON.stringify(facts)) <= mostBytes) return facts
  const { sent: _sent, ...small } = facts
  return { ...small, resource: { ...resource, fields: {} } }
}
