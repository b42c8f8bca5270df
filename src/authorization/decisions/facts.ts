import type { UnknownWords } from '../../platform/http/policies-in-force.ts'
import { builtInAttributes } from '../../policy-engine/catalogue/built-in-attributes.ts'
import type { Slice } from '../../policy-engine/compile/compiled-policy.ts'
import { missingAttributes } from '../../policy-engine/evaluate/attributes.ts'
import type { AnyQuery, Membership, Resource, SentAttributes } from '../../policy-engine/evaluate/query.ts'

/** A question as it was asked, without the policies: enough to explain the answer and to ask again. */
type WholeFacts = Omit<AnyQuery, 'slice' | 'approval' | 'requestId' | 'now'> & {
  application?: true
  sent?: SentAttributes
  /** the attributes that the policies of then looked at: of rows and callers no others are kept */
  looked: readonly string[]
  /** those of them that the question lacked; absent in older rows, as is `unknown` */
  missing?: readonly string[]
  unknown?: UnknownWords
}

/** In place of facts that are too large, or of a person who was erased: the other columns are all that is known. */
interface NoFacts {
  cut: true
}

export type Facts = WholeFacts | NoFacts

const maxBytesOfService = 16 * 1024

/**
 * The facts of a question. Of what callers and rows bring along only the attributes that a policy looked at are kept:
 * the log is no copy of the data. Their JSON has at most `maxBytes` where an application asked, which chooses what it
 * sends, and 16 KiB else: values go first, then the facts.
 */
export function factsOf(query: AnyQuery, maxBytes: number, unknown?: UnknownWords): Facts {
  const missing = missingAttributes(query)
  const whole = { ...wholeFacts(query), ...(missing.length > 0 && { missing }), ...(unknown && { unknown }) }
  const most = 'application' in query ? maxBytes : maxBytesOfService
  return [whole, withoutValues(whole)].find((facts) => bytesOf(facts) <= most) ?? { cut: true }
}

const bytesOf = (facts: Facts) => Buffer.byteLength(JSON.stringify(facts))

function wholeFacts(query: AnyQuery): WholeFacts {
  const { slice, approval: _approval, requestId: _request, now: _now, ...rest } = query
  const kept = (category: string, values: Readonly<Record<string, unknown>> | undefined) =>
    Object.fromEntries(
      Object.entries(values ?? {}).filter(([key]) => Object.hasOwn(slice.attributes, `${category}.${key}`)),
    )
  const resource: Resource = { ...query.resource, fields: kept('resource', query.resource.fields) }
  const facts: WholeFacts = { ...rest, resource, looked: Object.keys(slice.attributes) }
  if ('sent' in query && query.sent)
    facts.sent = Object.fromEntries(
      Object.entries(query.sent).map(([category, values]) => [category, kept(category, values)]),
    )
  return facts
}

/** Without what rows, members and callers bring along: it can be asked again where no policy looks at such values. */
function withoutValues({ sent: _sent, resource, subject, ...facts }: WholeFacts): WholeFacts {
  const { attributes: _attributes, ...membership } = subject.membership ?? {}
  return {
    ...facts,
    resource: { ...resource, fields: {} },
    subject: { ...subject, membership: subject.membership && (membership as Membership) },
    looked: [],
  } as WholeFacts
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
  if ('cut' in row.facts) return null
  const { looked, missing: _missing, unknown: _unknown, ...facts } = row.facts
  const known = (name: string) =>
    alwaysThere(name) ||
    looked.includes(name) ||
    (name.startsWith('subject.') && facts.subject.membership?.attributes !== undefined)
  if (!Object.keys(slice.attributes).every(known)) return null
  return { ...facts, slice, requestId: row.request_id, now: row.at } as AnyQuery
}
