import type * as library from 'oidc-provider'
import type Provider from 'oidc-provider'
import type { Grant, KoaContextWithOIDC } from 'oidc-provider'
import type { Tx } from '../database/executor/transaction.ts'
import type { RequestInfo } from '../http/request-info.ts'
import type { Here } from '../pages/sign-in/calls.ts'
import type { Due } from './due.ts'
import type { RequestUnit } from './request-unit.ts'

/** The library's module, which is loaded with the first request. */
export type Library = typeof library
export type { Provider }
export type OidcContext = KoaContextWithOIDC

/** A device waits elsewhere, so nothing leads to a redirect URI, and the browser's session is not the device's. */
export const isOfDevice = (ctx: OidcContext): boolean => ctx.oidc.route === 'device_resume'

/** What is kept of the request that the library answers. */
export interface RequestState {
  oauth: OwnState
  requestInfo: RequestInfo
}

/** The same of the present request; null outside of one. */
export const requestOf = ({ Provider }: Library): RequestState | null =>
  ((Provider.ctx as OidcContext | undefined)?.state as RequestState | undefined) ?? null

/** What stands behind a grant: the session, the membership, and what the session had shown. Times in s. */
export interface GrantAuth {
  /** The id of the grant that its person and its tenant see. */
  gid: string
  /** Of a manifest's client: where its person signed in. */
  tenantId?: string | undefined
  sessionId: string
  /** That of the browser, if the grant has one of its own. */
  browserSessionId?: string | undefined
  membershipId: string
  sid: string
  acr: Here['acr']
  amr: readonly string[]
  authTime: number
  /** Where the person came from, and where the request led: policies are asked again while the person is away. */
  ip: string
  userAgent: string
  redirectHost: string
}
export type OwnGrant = Grant & { auth: GrantAuth }

/** What the provider keeps of the request beside the library. */
export interface OwnState {
  here: Here | null
  due: Due | null
  /** What the request reads and writes, at an endpoint for programs. */
  unit: RequestUnit | null
  /** The transaction in which the library stores a grant. */
  tx?: Tx | null
  /** Where a person signs in to a client of a manifest, once that is known. */
  tenantId?: string | undefined
  failure?: unknown
}
