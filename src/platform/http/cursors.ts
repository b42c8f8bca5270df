import type { Sealer } from '../crypto/seal.ts'
import type { ListQuery } from '../db/list.ts'
import { invalidField } from '../errors.ts'

/** What a cursor belongs to: one list, one caller, their filters and ordering. The size of a page is not part of it. */
export interface CursorScope {
  path: string
  tenantId: string
  userId: string
  query: ListQuery
}

/** A row's place in a list, and in which direction its page goes on. */
export interface CursorPosition {
  backwards: boolean
  at: string | number
  id: string
}

// The place may be that of a withheld row, so a cursor is sealed, and padded lest its length tell that of an address.
const block = 128

/** Seals a place into a cursor that only the same question opens. */
export function sealCursor(
  sealer: Sealer,
  scope: CursorScope,
  { backwards, at, id }: CursorPosition,
): string {
  const text = JSON.stringify([backwards, at, id])
  const padding = ' '.repeat(block - (Buffer.byteLength(text) % block))
  return sealer.seal('cursor', text + padding, contextOf(scope)).toString('base64url')
}

/** Opens a cursor; 400 for one that this list never gave to this caller for this question. */
export function openCursor(sealer: Sealer, scope: CursorScope, cursor: string): CursorPosition {
  try {
    const sealed = Buffer.from(cursor, 'base64url')
    if (sealed.toString('base64url') !== cursor) throw new Error('not as it was written')
    const [backwards, at, id] = JSON.parse(sealer.open('cursor', sealed, contextOf(scope)))
    return { backwards, at, id }
  } catch {
    throw invalidField('cursor', 'This cursor is not of this list. Begin again without one.')
  }
}

function contextOf({ path, tenantId, userId, query }: CursorScope): string {
  const { page_size: _size, cursor: _cursor, ...filters } = query
  return JSON.stringify([path, tenantId, userId, Object.entries(filters).sort()])
}
