import { readAsSystem } from '../database/executor/read.ts'
import type { Deps } from '../deps.ts'
import { findModel } from './store.ts'

// The value of a refresh token is derived from that of the one that it replaces, under SECRET_KEYS: so a client that lost
// an answer gets the same token again, and never two that work.

type SuccessorDeps = Pick<Deps, 'db' | 'clock' | 'sealer'>

const candidatesOf = ({ sealer }: SuccessorDeps, used: string): string[] =>
  sealer.macs('oauth-refresh', used).map((mac) => mac.toString('base64url'))

/** The stored successor of a used refresh token, whichever key derived it; else the one to store. */
export async function successorsOf(deps: SuccessorDeps, used: string) {
  const candidates = candidatesOf(deps, used)
  for (const value of candidates) {
    const row = await findSuccessor(deps, value)
    if (row) return { value, isUsed: row.consumed_at !== null }
  }
  return { value: candidates[0]!, isUsed: false }
}

const findSuccessor = ({ db, clock }: SuccessorDeps, value: string) =>
  readAsSystem(db, 'a code or token names its tenant', (read) =>
    findModel(read, 'RefreshToken', value, clock()),
  )

export const isUnusedSuccessor = async (deps: SuccessorDeps, used: string): Promise<boolean> =>
  !(await successorsOf(deps, used)).isUsed

const noted = new WeakMap<object, string>()

/** Keeps the successor for the request that rotates. */
export function noteSuccessor(state: object | null, { value }: { value: string }): void {
  if (state) noted.set(state, value)
}

/** The value of the refresh token that this request makes, if it replaces one. */
export const notedSuccessor = (state: object | null): string | undefined =>
  state ? noted.get(state) : undefined
