import type { Sealer } from '../crypto/seal.ts'
import { openToken, sealToken } from '../crypto/sealed-token.ts'
import { invalidField } from '../errors.ts'
import type { ListQuery } from './list.ts'

/** What a cursor is bound to: the list, the caller, and their filters and ordering. The page size can change. */
export interface CursorScope {
  path: string
  tenantId: string
  userId: string
  query: ListQuery
}

/** A row's position in a list, and the direction of the page. */
export interface CursorPosition {
  backwards: boolean
  at: string | number
  id: string
}

// The position can be that of a withheld row, so a cursor is encrypted. It is padded, because its length would reveal
// the length of an address.
const block = 128

/** Encrypts a position into a cursor that works only with the same scope. */
export function sealCursor(
  sealer: Sealer,
  scope: CursorScope,
  { backwards, at, id }: CursorPosition,
): string {
  const text = JSON.stringify([backwards, at, id])
  const padding = ' '.repeat(block - (Buffer.byteLength(text) % block))
  return sealToken(sealer, 'cursor', text + padding, contextOf(scope))
}

/** Decrypts a cursor; null for one of another list, caller, filter or ordering. */
export function openCursor(sealer: Sealer, scope: CursorScope, cursor: string): CursorPosition | null {
  try {
    const [backwards, at, id] = openToken(sealer, 'cursor', cursor, contextOf(scope))
    return { backwards, at, id }
  } catch {
    return null
  }
}

/** 400 for a cursor that does not open. */
export const invalidCursor = () =>
  invalidField(
    'cursor',
    'This cursor does not belong to this list and these filters. Start again without a cursor.',
  )

function contextOf({ path, tenantId, userId, query }: CursorScope): string {
  const { page_size: _size, cursor: _cursor, ...filters } = query
  return JSON.stringify([path, tenantId, userId, Object.entries(filters).sort()])
}
