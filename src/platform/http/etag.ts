import type { Versions } from '../db/version.ts'
import { ApiError } from '../errors.ts'

// An entity tag is the version of the row that the request would change, which the database counts (0006-lists.sql):
// two states of it never share one, and `If-Match` can be a condition of the statement that changes it. What other
// rows lend to an answer (a count of members, the name of a role) is not part of it: a PUT does not overwrite that.

/** An answer with the version of what it shows; goes out with a strong `ETag` (RFC 9110 §8.8.3). */
export class Versioned<T> {
  readonly version: number
  readonly body: T

  constructor(version: number, body: T) {
    this.version = version
    this.body = body
  }
}

export const entityTag = (version: number): string => `"${version}"`

const list = /^\s*((W\/)?"[^"]*"\s*(,\s*(?=W?\/?")|$))+$/

/**
 * The versions that an `If-Match` names (RFC 9110 §13.1.1); null where there is none, or `*`. Weak tags match
 * nothing, and so does what is no tag of ours.
 */
export function readIfMatch(header: string): Versions {
  const text = header.trim()
  if (text === '' || text === '*') return null
  if (!list.test(text)) return []
  return [...text.matchAll(/(?<!W\/)"([1-9]\d{0,14})"/g)].map(([, version]) => Number(version))
}

/**
 * Throws 412 for a row of another version than those that may be changed. For a row that the transaction has locked,
 * or whose changes wait for a lock that it holds; elsewhere the statement itself has to ask.
 */
export function assertAmong(versions: Versions, version: number): void {
  if (versions !== null && !versions.includes(version)) throw preconditionFailed()
}

/** 412: it is not, or no longer, what the caller has read. */
export const preconditionFailed = () =>
  new ApiError(
    412,
    'precondition_failed',
    'It was changed since you read it. Read it again, and send its ETag as If-Match.',
  )
