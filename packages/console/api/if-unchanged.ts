import { type CallOptions, Problem } from '@bailiwick/client'
import { callVersioned, type Input } from './client.ts'

/** An object of a list, or the answer of `callVersioned`. */
type Opened = { updated_at: string } | { etag: string | null }

const versionOf = (opened: Opened) => ('etag' in opened ? opened.etag : opened.updated_at)

/** The state of an object that its editor was told about, if that is newer than what they opened. */
const toldOf = new WeakMap<Opened, string | null>()

/**
 * Changes an object only if it still is as its editor opened it: `change` gets the options for that. Throws 412
 * if another person has changed it since. The next attempt overwrites what its author was told about then.
 */
export async function ifUnchanged<T>(
  read: Parameters<typeof callVersioned>[0] & `GET ${string}`,
  path: Input<'GET /policies/{id}/'>['path'],
  opened: Opened,
  change: (unchanged: Pick<CallOptions, 'ifMatch'>) => Promise<T>,
): Promise<T> {
  const { body, etag } = await callVersioned(read, { ...(path && { path }) })
  const now = 'etag' in opened ? etag : (body as { updated_at: string }).updated_at
  if (now !== (toldOf.get(opened) ?? versionOf(opened))) {
    toldOf.set(opened, now)
    throw new Problem(412, { code: 'precondition_failed', detail: overtaken })
  }
  return change(etag ? { ifMatch: etag } : {})
}

const overtaken =
  'Someone else changed this after you opened it. Cancel to look at it again, or save once more to put yours over it.'
