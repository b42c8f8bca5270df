import { callVersioned, type Input } from './client.ts'
import { Problem } from './problem.ts'

interface Row {
  updated_at: string
}

/** The state of an object that its editor was told about, if that is newer than what they opened. */
const toldOf = new WeakMap<Row, string>()

/**
 * Changes an object of a list only if it still is as the list showed it: `change` gets the headers for that. Throws 412
 * if another person has changed it since. The next attempt overwrites what its author was told about then.
 */
export async function ifUnchanged<T>(
  read: Parameters<typeof callVersioned>[0] & `GET ${string}`,
  path: Input<'GET /policies/{id}/'>['path'],
  row: Row,
  change: (headers: Record<string, string>) => Promise<T>,
): Promise<T> {
  const { body, etag } = await callVersioned(read, { ...(path && { path }) })
  const { updated_at: now } = body as Row
  if (now !== (toldOf.get(row) ?? row.updated_at)) {
    toldOf.set(row, now)
    throw new Problem(412, { code: 'precondition_failed', detail: overtaken })
  }
  return change(etag ? { 'If-Match': etag } : {})
}

const overtaken =
  'Someone else changed this after you opened it. Cancel to look at it again, or save once more to put yours over it.'
