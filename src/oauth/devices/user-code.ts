import type { Deps } from '../../deps.ts'

/** A code as people type it: letters of either case, with or without the hyphen. '' for a text that is none. */
export function readUserCode(text: string): string {
  const letters = text.toUpperCase().replace(/[\s-]/g, '')
  return /^[BCDFGHJKLMNPQRSTVWXZ]{8}$/.test(letters) ? letters : ''
}

/** A code as devices show it: ABCD-EFGH. */
export const showUserCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`

/**
 * The MACs of a code, under each of SECRET_KEYS, the newest first. A plain hash of 8 letters would tell them to who reads the
 * database.
 */
export const userCodeHashes = ({ macs }: Deps['sealer'], code: string): Buffer[] =>
  macs('oauth-user-code', code)
