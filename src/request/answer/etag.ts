import type { Versions } from '../../database/version.ts'
import { ApiError, invalidField } from '../../errors.ts'
import { WithCredentials } from './with-credentials.ts'

// An entity tag is the version of the row that the request would change. The database increments it (src/database/schema/tenancy.sql),
// so two states of a row never share a version, and `If-Match` can be a condition of the statement that changes the
// row. Values from other rows in the answer (a count of members, the name of a role) do not affect it: a PUT does not
// change them.

/** An answer with the version of the object it shows. It gets a strong `ETag` (RFC 9110 §8.8.3). */
export class Versioned<T> {
  readonly version: number
  readonly body: T
  /** The request created the object: the status is 201. */
  readonly created: boolean

  constructor(version: number, body: T, created = false) {
    this.version = version
    this.body = body
    this.created = created
  }
}

/** An answer to a POST that found the object which it would create: the status is 200 in place of 201. */
export class Found<T> {
  readonly body: T
  constructor(body: T) {
    this.body = body
  }
}

export const entityTag = (version: number): string => `"${version}"`

const list = /^\s*((W\/)?"[^"]*"\s*(,\s*(?=W?\/?")|$))+$/

/**
 * The versions that an `If-Match` names (RFC 9110 §13.1.1); null when the header is missing or `*`. Weak tags, and tags
 * that are not ours, match nothing. Throws 400 for what is no tag.
 */
export function readIfMatch(header: string): Versions {
  const text = header.trim()
  if (text === '' || text === '*') return null
  if (!list.test(text))
    throw invalidField('If-Match', 'Send the ETag as you read it, with its quotes: If-Match: "5".')
  return [...text.matchAll(/(?<!W\/)"([1-9]\d{0,14})"/g)].map(([, version]) => Number(version))
}

/**
 * Throws 412 for a row whose version is not among `versions`. Use it only for a row that the transaction has locked, or
 * whose changes need a lock that it holds. Otherwise put the condition into the statement itself.
 */
export function assertAmong(versions: Versions, version: number): void {
  if (versions !== null && !versions.includes(version)) throw preconditionFailed()
}

/** 412: the object is not in the state that the caller has read. */
export const preconditionFailed = () =>
  new ApiError(
    412,
    'precondition_failed',
    'This was changed after you read it. Read it again, and send its ETag as If-Match.',
  )

/** The answer with a changed body and the same version. */
export function mapBody(answer: unknown, change: (body: unknown) => unknown): unknown {
  if (answer instanceof Versioned) return new Versioned(answer.version, change(answer.body), answer.created)
  if (answer instanceof WithCredentials)
    return new WithCredentials(answer.opened, change(answer.body) as object)
  return answer instanceof Found ? new Found(change(answer.body)) : change(answer)
}
