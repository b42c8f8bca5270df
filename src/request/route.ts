import type { ZodObject, ZodType, z } from 'zod'
import type { Read } from '../database/executor/read.ts'
import type { Tx } from '../database/executor/transaction.ts'
import type { Versions } from '../database/version.ts'
import type { RequestInfo } from '../http/request-info.ts'
import type { ActionName } from '../policy-engine/catalogue/actions.ts'
import type { DecidedPage } from './answer/decided-page.ts'
import type { Found, Versioned } from './answer/etag.ts'
import type { WithCredentials } from './answer/with-credentials.ts'
import type { Bearer, Caller, ResourceOf } from './caller.ts'
import type { ItemDecisions } from './item-decisions.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The validated input of a route's functions. It has nothing of Koa. */
export interface RouteInput<Body, Query, C> {
  params: Record<string, string>
  body: Body
  query: Query
  caller: C
  requestInfo: RequestInfo
  /** From `If-Match`: the versions that can be changed. Make them a condition of the changing statement. */
  ifMatch: Versions
  /** The token of the Authorization header. Throws 401 without one. Only for routes that check it themselves. */
  bearer: () => string
  /** The body as it was sent, to report the position of a fault. */
  text: () => string
}

export type Answered<R extends ZodType> =
  | z.input<R>
  | Versioned<z.input<R>>
  | Found<z.input<R>>
  | DecidedPage<z.input<R>>
  | WithCredentials
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: a 204 has nothing to return
  | void
type Promised<T> = T | Promise<T>

// The tenant of a route. `token`: the token's. `path`: that of `:id`, decided by the caller's membership there.
// `inside`: that of `:id`, which must be the token's (403 `tenant_mismatch` for its members, 404 for other callers).
export type TenantScope = 'token' | 'path' | 'inside'

export interface Common<B extends ZodType, Q extends ZodObject, R extends ZodType> {
  method: Method
  /** Full path with parameters as `:id`, without a trailing slash. The router matches both forms. */
  path: string
  tag: string
  summary: string
  description?: string
  body?: B
  query?: Q
  /** The status and schema of a successful answer; `answer` is null for no content. */
  status: 200 | 201 | 204
  answer: R | null
  /** A PUT that creates what does not exist answers 201 then (RFC 9110 §9.3.4); a POST that finds it, 200 ({@link Found}). */
  creates?: boolean
  finds?: boolean
  /** Error statuses beyond those of every route, for the OpenAPI document. */
  refusals?: number[]
  /** Refused to keys, although they can use the route's action elsewhere. */
  sessionOnly?: boolean
  /** The route checks the token of an application itself. */
  applicationToken?: boolean
  /** What it loads is read from DATABASE_READ_URL, if that is set: it may be a moment old. Only for what is never changed. */
  fromReplica?: boolean
  /** A POST loads a few rows by their keys, as a GET without a filter does: see `Pool.readShared`. */
  loadsByKeys?: boolean
  /** It looks at many rows: it is loaded once the caller is permitted, in a turn of the budget of such reads. */
  scansRows?: boolean
  /** The action that reads what the answer shows, where that is another: it decides each row of a list, or the object, too. */
  readAction?: ActionName
  /** The answer contains a token, code or secret. */
  secret?: boolean
  /** A GET answers a {@link Versioned}; other methods honour `ifMatch`. Without it, an `If-Match` with any tag is 412. */
  versioned?: boolean
  /** The validated body without its secret parts, for approvers and auditors. The approval is for the full body. */
  shownBody?(body: z.output<B>): unknown
  /** Cache-Control. Default: `no-store` with `secret`, else `private, no-cache`. */
  cache?: string
}

/** What a load needs: the caller and the parameters of the path. */
export type Target = Pick<RouteInput<unknown, unknown, Caller>, 'caller' | 'params'>
export type LoadTarget = Pick<AnyLoadInput, 'caller' | 'params'>
type InputOf<B extends ZodType, Q extends ZodObject, C = Caller> = RouteInput<z.output<B>, z.output<Q>, C>

/**
 * What a load knows. It asks for all its statements before its first await: they go out with the one that reads the
 * caller's auth context. Their rows are used only if the decision allows, and row-level security confines them before.
 */
type LoadInput<B extends ZodType, Q extends ZodObject> = Omit<
  RouteInput<z.output<B>, z.output<Q>, Bearer>,
  'requestInfo'
>

/** Decided before it runs, on the route and on what was sent. Its action cannot require an approval. */
export interface RouteSpec<B extends ZodType, Q extends ZodObject, R extends ZodType, L = undefined>
  extends Common<B, Q, R> {
  action: ActionName
  scope?: TenantScope
  /** Loads what `handle` shows; null is 404. */
  load?(read: Read, input: LoadInput<B, Q>): Promise<L | null>
  handle(input: InputOf<B, Q>, loaded: NoInfer<L>): Promised<Answered<R>>
}

/** Decided on the loaded resource, before it runs. Its action cannot require an approval. */
export interface ResourceSpec<B extends ZodType, Q extends ZodObject, R extends ZodType, L>
  extends Common<B, Q, R> {
  action: ActionName
  scope?: TenantScope
  /** Loads the resource; null is 404. */
  load(read: Read, input: LoadInput<B, Q>): Promise<L | null>
  /** The object as policies see it; null, which is 404, for callers who must not learn that it exists. */
  resource(loaded: NoInfer<L>, input: InputOf<B, Q>): ResourceOf | null
  handle(loaded: NoInfer<L>, input: InputOf<B, Q>): Promised<Answered<R>>
}

/**
 * Decided inside the transaction of the change: on what `load` gives, else on what was sent. The same transaction
 * consumes the approval that permits it. The functions do SQL only: after a serialization failure they run again.
 */
export interface ChangeSpec<B extends ZodType, Q extends ZodObject, R extends ZodType, L, P>
  extends Omit<Common<B, Q, R>, 'readAction'> {
  action: ActionName
  scope?: TenantScope
  /** Loads and locks the object to change; null is 404. */
  load?(tx: Tx, input: InputOf<B, Q>): Promise<L | null>
  /** The loaded object as policies see it. Required with `load`. */
  resource?(loaded: NoInfer<L>, input: InputOf<B, Q>): ResourceOf
  /** Slow work between decision and change, outside any transaction. `act` then has a transaction of its own. */
  prepare?(loaded: NoInfer<L>, input: InputOf<B, Q>): Promise<P>
  /** Whether it only takes access or rights away, as every DELETE does: then it is never 429 `quota_exceeded`. */
  takesAway?(input: InputOf<B, Q>, loaded: NoInfer<L>): boolean
  /** The tenant that `act` writes to, where that is a new one. */
  into?(prepared: NoInfer<P>): string
  /** Wraps the transaction of the change, for example in a limit that does not count failures. */
  around?<T>(
    change: () => Promise<T>,
    known: { input: InputOf<B, Q>; loaded: NoInfer<L>; prepared: NoInfer<P> },
  ): Promise<T>
  /** Makes the change. Throws 409 for a state that does not allow it. Returns `overtaken` to start again with `load`. */
  act(
    tx: Tx,
    input: InputOf<B, Q>,
    loaded: NoInfer<L>,
    prepared: NoInfer<P>,
  ): Promise<Answered<R> | typeof overtaken>
}

/** The result of `act` when a concurrent request changed what was decided on or prepared. */
export const overtaken = Symbol('overtaken')

/** Open without a token. With a token it is decided like other routes. */
export interface OpenSpec<B extends ZodType, Q extends ZodObject, R extends ZodType> extends Common<B, Q, R> {
  action: ActionName
  handle(input: InputOf<B, Q, Caller | null>): Promise<Answered<R>>
}

export interface PublicSpec<B extends ZodType, Q extends ZodObject, R extends ZodType>
  extends Common<B, Q, R> {
  handle(input: InputOf<B, Q, null>): Promise<Answered<R>>
  /** Runs before the body is read: a limit by the caller's address. Throws 429. */
  before?(requestInfo: RequestInfo): Promise<void>
}

/** A route for the router, the policy engine, the OpenAPI document and the walk tests. */
export type Route = Omit<Common<ZodType, ZodObject, ZodType>, 'body' | 'query' | 'answer'> & {
  action: ActionName | 'public'
  scope: TenantScope
  /** Open without a token, decided with one. */
  anonymous: boolean
  body: ZodType | undefined
  query: ZodObject | undefined
  answer: ZodType | null
} & (Handled | OnResource | Changing | ChangingMany)

/** The functions of a route without the types of its body, query and rows. */
export interface Handled {
  kind: 'handle'
  load?(read: Read, input: AnyLoadInput): Promise<unknown>
  handle(input: AnyInput, loaded: unknown): Promised<unknown>
  before?(requestInfo: RequestInfo): Promise<void>
}
export interface OnResource {
  kind: 'resource'
  load(read: Read, input: AnyLoadInput): Promise<unknown>
  resource(loaded: unknown, input: AnyInput): ResourceOf | null
  handle(loaded: unknown, input: AnyInput): Promised<unknown>
}
export interface Changing {
  kind: 'change'
  load?(tx: Tx, input: AnyInput): Promise<unknown>
  resource?(loaded: unknown, input: AnyInput): ResourceOf
  prepare?(loaded: unknown, input: AnyInput): Promise<unknown>
  takesAway?(input: AnyInput, loaded: unknown): boolean
  into?(prepared: unknown): string
  around?<T>(
    change: () => Promise<T>,
    known: { input: AnyInput; loaded: unknown; prepared: unknown },
  ): Promise<T>
  act(tx: Tx, input: AnyInput, loaded: unknown, prepared: unknown): Promise<unknown>
}
/** The functions of such a route without the types of its body, query and items. */
export interface ChangingMany {
  kind: 'bulk'
  maxBody: number
  items(input: AnyInput, pace: () => Promise<void>): Promise<unknown>
  changeAll(tx: Tx, input: AnyInput, items: unknown, decisions: ItemDecisions): Promise<unknown>
}

export type AnyInput = RouteInput<unknown, unknown, Caller | null>
export type AnyLoadInput = Omit<RouteInput<unknown, unknown, Bearer>, 'requestInfo'>
export const defaults = { body: undefined, query: undefined, scope: 'token', anonymous: false } as const

/** A route that is decided before it runs. */
export function route<B extends ZodType, Q extends ZodObject, R extends ZodType, L = undefined>(
  spec: RouteSpec<B, Q, R, L>,
): Route {
  return { ...defaults, kind: 'handle', ...spec } as unknown as Route
}

/** A route that is decided on what it loads. */
export function resourceRoute<B extends ZodType, Q extends ZodObject, R extends ZodType, L>(
  spec: ResourceSpec<B, Q, R, L>,
): Route {
  return { ...defaults, kind: 'resource', ...spec } as unknown as Route
}

/** A route that is decided in the transaction of its change. */
export function changeRoute<B extends ZodType, Q extends ZodObject, R extends ZodType, L, P>(
  spec: ChangeSpec<B, Q, R, L, P>,
): Route {
  return { ...defaults, kind: 'change', ...spec } as unknown as Route
}

/** A route without a token. A walk test freezes the list of these routes. */
export function publicRoute<B extends ZodType, Q extends ZodObject, R extends ZodType>(
  spec: PublicSpec<B, Q, R>,
): Route {
  return { ...defaults, kind: 'handle', action: 'public', ...spec } as unknown as Route
}

/** A route that needs no token, but is decided when one is sent. */
export function openRoute<B extends ZodType, Q extends ZodObject, R extends ZodType>(
  spec: OpenSpec<B, Q, R>,
): Route {
  return { ...defaults, kind: 'handle', anonymous: true, ...spec } as unknown as Route
}
