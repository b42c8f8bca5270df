import type * as library from 'oidc-provider'
import type Provider from 'oidc-provider'
import type { Grant, KoaContextWithOIDC } from 'oidc-provider'
import type { Here } from '../pages/sign-in/calls.ts'
import type { Due } from './due.ts'

/** The library's module, which is loaded with the first request. */
export type Library = typeof library
export type { Provider }
export type OidcContext = KoaContextWithOIDC

/** What is kept of the request that the library answers; null outside of one. */
export const requestOf = ({ Provider }: Library) => (Provider.ctx as OidcContext | undefined)?.state ?? null

/** What stands behind a grant: the session, the membership, and what the session had shown. Times in s. */
export interface GrantAuth {
  sessionId: string
  /** That of the browser, if the grant has one of its own. */
  browserSessionId?: string | undefined
  membershipId: string
  sid: string
  acr: string
  amr: readonly string[]
  authTime: number
}
export type OwnGrant = Grant & { auth: GrantAuth }

/** What the provider keeps of the request beside the library. */
export interface OwnState {
  here: Here | null
  due: Due | null
  failure?: unknown
}
