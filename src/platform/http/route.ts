import type { ZodObject, ZodType, z } from 'zod'
import type { ActionName } from '../../policy-engine/catalogue/actions.ts'
import type { Resource } from '../../policy-engine/evaluate/query.ts'
import type { Tx } from '../db/transaction.ts'
import type { Versions } from '../db/version.ts'
import type { Caller } from './caller.ts'
import type { Versioned } from './etag.ts'
import type { DecidedPage } from './lists.ts'
import type { RequestInfo } from './request-info.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What a route's functions are given: everything validated, nothing of Koa. */
export interface Ask<Body, Query, C> {
  params: Record<string, string>
  body: Body
  query: Query
  caller: C
  requestInfo: RequestInfo
  /** Of `If-Match`: the versions that may be changed; the statement that changes the row has to ask for them. */
  ifMatch: Versions
  /** The body as it was sent, to say where in it a fault is. */
  text: () => string
}

type Answered<R extends ZodType> =
  | z.input<R>
  | Versioned<z.input<R>>
  | DecidedPage<z.input<R>>
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: a 204 has nothing to return
  | void
type Promised<T> = T | Promise<T>

/** What is acted on, as the functions of a route name it; the rest is that of the request. */
export type ResourceOf = Partial<Resource> & { type: string }

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
  /** The validated body as approvers and auditors may see it, where parts are secret; the approval is for all of it. */
  shownBody?(body: z.output<B>): unknown
  /** Cache-Control where it is neither `no-store` (secrets) nor `private, no-cache`. */
  cache?: string
}

/** What a load needs of an ask: whose it is, and the parameters of its path. */
export type Target = Pick<Ask<unknown, unknown, Caller>, 'caller' | 'params'>

type AskOf<B extends ZodType, Q extends ZodObject, C = Caller> = Ask<z.output<B>, z.output<Q>, C>

/** Decided before it runs: about the route, and about what was sent. No policy may gate its action. */
export interface RouteSpec<B extends ZodType, Q extends ZodObject, R extends ZodType>
  extends Common<B, Q, R> {
  action: ActionName
  scope?: TenantScope
  handle(ask: AskOf<B, Q>): Promise<Answered<R>>
}

/** Decided about what it loads, before it runs. No policy may gate its action. */
export interface ResourceSpec<B extends ZodType, Q extends ZodObject, R extends ZodType, L>
  extends Common<B, Q, R> {
  action: ActionName
  scope?: TenantScope
  /** Loads what the route is about; null is 404. */
  load(ask: AskOf<B, Q>): Promise<L | null>
  resource(loaded: NoInfer<L>, ask: AskOf<B, Q>): ResourceOf
  handle(loaded: NoInfer<L>, ask: AskOf<B, Q>): Promised<Answered<R>>
}

/**
 * Decided inside of the transaction that changes something: about what `load` gives, else about what was sent. An
 * approval that permits it is consumed by the same transaction. The functions may run again after a serialization
 * failure: they do SQL and nothing else.
 */
export interface ChangeSpec<B extends ZodType, Q extends ZodObject, R extends ZodType, L, P>
  extends Common<B, Q, R> {
  action: ActionName
  scope?: TenantScope
  /** Loads what will change, and locks it; null is 404. */
  load?(tx: Tx, ask: AskOf<B, Q>): Promise<L | null>
  /** What `load` gave, as policies see it. Goes with `load`. */
  resource?(loaded: NoInfer<L>, ask: AskOf<B, Q>): ResourceOf
  /** Slow work between the decision and the change, with no transaction open; then `act` has one of its own. */
  prepare?(loaded: NoInfer<L>, ask: AskOf<B, Q>): Promise<P>
  /** Runs the change inside of what holds around its transaction: a limit that counts it, unless it fails. */
  around?<T>(
    change: () => Promise<T>,
    known: { ask: AskOf<B, Q>; loaded: NoInfer<L>; prepared: NoInfer<P> },
  ): Promise<T>
  /** Makes the change; throws 409 for a state that does not allow it. Gives `overtaken` to begin again with `load`. */
  act(
    tx: Tx,
    ask: AskOf<B, Q>,
    loaded: NoInfer<L>,
    prepared: NoInfer<P>,
  ): Promise<Answered<R> | typeof overtaken>
}

/** What was decided about, or prepared for, is there no longer: others were faster. */
export const overtaken = Symbol('overtaken')

/** Open without a token; with one it is decided like any other. */
export interface OpenSpec<B extends ZodType, Q extends ZodObject, R extends ZodType> extends Common<B, Q, R> {
  action: ActionName
  handle(ask: AskOf<B, Q, Caller | null>): Promise<Answered<R>>
}

export interface PublicSpec<B extends ZodType, Q extends ZodObject, R extends ZodType>
  extends Common<B, Q, R> {
  handle(ask: AskOf<B, Q, null>): Promise<Answered<R>>
}

/** A route as the registry holds it: one entry serves the router, the policies, the document and the walks. */
export type Route = Omit<Common<ZodType, ZodObject, ZodType>, 'body' | 'query' | 'answer'> & {
  action: ActionName | 'public'
  scope: TenantScope
  /** Open without a token, although decided with one. */
  anonymous: boolean
  body: ZodType | undefined
  query: ZodObject | undefined
  answer: ZodType | null
} & (Handled | OnResource | Changing)

/** The functions of a route once the types of its body, query and rows are behind it. */
export interface Handled {
  kind: 'handle'
  handle(ask: AnyAsk): Promise<unknown>
}
export interface OnResource {
  kind: 'resource'
  load(ask: AnyAsk): Promise<unknown>
  resource(loaded: unknown, ask: AnyAsk): ResourceOf
  handle(loaded: unknown, ask: AnyAsk): Promised<unknown>
}
export interface Changing {
  kind: 'change'
  load?(tx: Tx, ask: AnyAsk): Promise<unknown>
  resource?(loaded: unknown, ask: AnyAsk): ResourceOf
  prepare?(loaded: unknown, ask: AnyAsk): Promise<unknown>
  around?<T>(change: () => Promise<T>, known: { ask: AnyAsk; loaded: unknown; prepared: unknown }): Promise<T>
  act(tx: Tx, ask: AnyAsk, loaded: unknown, prepared: unknown): Promise<unknown>
}
export type AnyAsk = Ask<unknown, unknown, Caller | null>

const defaults = { body: undefined, query: undefined, scope: 'token', anonymous: false } as const

/** A route that is decided before it runs. */
export function route<B extends ZodType, Q extends ZodObject, R extends ZodType>(
  spec: RouteSpec<B, Q, R>,
): Route {
  return { ...defaults, kind: 'handle', ...spec } as unknown as Route
}

/** A route that is decided about what it loads. */
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

/** A route without a token; the list of them is frozen by a walk. */
export function publicRoute<B extends ZodType, Q extends ZodObject, R extends ZodType>(
  spec: PublicSpec<B, Q, R>,
): Route {
  return { ...defaults, kind: 'handle', action: 'public', ...spec } as unknown as Route
}

/** A route that needs no token, but decides about the caller where one is sent. */
export function openRoute<B extends ZodType, Q extends ZodObject, R extends ZodType>(
  spec: OpenSpec<B, Q, R>,
): Route {
  return { ...defaults, kind: 'handle', anonymous: true, ...spec } as unknown as Route
}
