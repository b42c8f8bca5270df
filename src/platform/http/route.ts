import type { ZodObject, ZodType, z } from 'zod'
import type { ActionName } from '../access/actions.ts'
import type { Versions } from '../db/version.ts'
import type { Caller } from './caller.ts'
import type { Versioned } from './etag.ts'
import type { DecidedPage } from './lists.ts'
import type { RequestInfo } from './request-info.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What a handler is given: everything checked, nothing of Koa. */
export interface Ask<Body, Query, A> {
  params: Record<string, string>
  body: Body
  query: Query
  caller: A
  requestInfo: RequestInfo
  /** Of `If-Match`: the versions that may be changed; the statement that changes the row has to ask for them. */
  ifMatch: Versions
  /** The body as it was sent, to say where in it something is. */
  text: () => string
}

type Answered<R extends ZodType> = Promise<
  z.input<R> | Versioned<z.input<R>> | DecidedPage<z.input<R>> | undefined
>

/**
 * Which tenant a route works in. `token`: that of the token. `path`: that of `:id`, decided by the caller's
 * membership there. `inside`: that of `:id`, which must be the token's (403 `tenant_mismatch` for a member of it,
 * 404 for anyone else).
 */
export type TenantScope = 'token' | 'path' | 'inside'

interface Common<B extends ZodType, Q extends ZodObject, R extends ZodType> {
  method: Method
  /** Whole path, parameters as `:id`, without the trailing slash: the router matches both forms. */
  path: string
  tag: string
  summary: string
  description?: string
  body?: B
  query?: Q
  /** Success: status and the shape of the answer; `null` for no content. */
  status: 200 | 201 | 204
  answer: R | null
  /** Statuses beyond those every route may answer, for the document. */
  refusals?: number[]
  /** The answer carries a token, code or secret. */
  secret?: boolean
  /** GET: answers a {@link Versioned}. Others: honour `ifMatch`; where none does, an `If-Match` of any tag is 412. */
  versioned?: boolean
  /** Cache-Control where it is neither `no-store` (secrets) nor `private, no-cache`. */
  cache?: string
}

export interface DecidedSpec<B extends ZodType, Q extends ZodObject, R extends ZodType>
  extends Common<B, Q, R> {
  action: ActionName
  scope?: TenantScope
  /** `resource`: the verb loads what it acts on and must call `caller.permit` with it. */
  decides?: 'route' | 'resource'
  handle(ask: Ask<z.output<B>, z.output<Q>, Caller>): Answered<R>
}

/** Open without a token; with one it is decided like any other. */
export interface OpenSpec<B extends ZodType, Q extends ZodObject, R extends ZodType> extends Common<B, Q, R> {
  action: ActionName
  handle(ask: Ask<z.output<B>, z.output<Q>, Caller | null>): Answered<R>
}

export interface PublicSpec<B extends ZodType, Q extends ZodObject, R extends ZodType>
  extends Common<B, Q, R> {
  action: 'public'
  handle(ask: Ask<z.output<B>, z.output<Q>, null>): Answered<R>
}

/** A route as the registry holds it: one entry serves the router, the policies, the document and the walks. */
export type Route = Omit<Common<ZodType, ZodObject, ZodType>, 'body' | 'query' | 'answer'> & {
  action: ActionName | 'public'
  scope: TenantScope
  decides: 'route' | 'resource'
  /** Whoever sends no token is let in as nobody. */
  anonymous: boolean
  body: ZodType | undefined
  query: ZodObject | undefined
  answer: ZodType | null
  handle(ask: Ask<unknown, unknown, Caller | null>): Promise<unknown>
}

const usual = {
  body: undefined,
  query: undefined,
  scope: 'token',
  decides: 'route',
  anonymous: false,
} as const

/** A route that is decided: nobody reaches its handler without a token and an allow. */
export function route<B extends ZodType, Q extends ZodObject, R extends ZodType>(
  spec: DecidedSpec<B, Q, R>,
): Route {
  return { ...usual, ...spec } as unknown as Route
}

/** A route without a token; the list of them is frozen by a walk. */
export function publicRoute<B extends ZodType, Q extends ZodObject, R extends ZodType>(
  spec: Omit<PublicSpec<B, Q, R>, 'action'>,
): Route {
  return { ...usual, action: 'public', ...spec } as unknown as Route
}

/** A route for nobody in particular and for whoever is logged in: a token is checked where one is sent. */
export function openRoute<B extends ZodType, Q extends ZodObject, R extends ZodType>(
  spec: OpenSpec<B, Q, R>,
): Route {
  return { ...usual, anonymous: true, ...spec } as unknown as Route
}
