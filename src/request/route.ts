import type { ZodObject, ZodType, z } from 'zod'
import type { Read } from '../database/executor/read.ts'
import type { Tx } from '../database/executor/transaction.ts'
import type { Versions } from '../database/version.ts'
import type { RequestInfo } from '../http/request-info.ts'
import type { ActionName } from '../policy-engine/catalogue/actions.ts'
import type { DecidedPage } from './answer/decided-page.ts'
import type { Found, Versioned } from './answer/etag.ts'
import type { WithCredentials } from './answer/with-credentials.ts'
import type { FileBody } from './body/read-body.ts'
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
  /** The body is a file, not JSON. */
  file?: FileBody
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
  /**
   * It changes the person, beyond the tenant: refused to sessions by a connection, although they can use its action elsewhere. Default: as the
   * action says.
   */
  ofPerson?: boolean
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

/** Whom a route serves. `token`: callers with the action. `optional`: also without a token. `public`: anyone, undecided. */
export type Access = 'token' | 'optional' | 'public'

/** The rule. Routes with another `access` are listed in registry.ts, too. */
interface Guarded {
  access?: undefined
  action: ActionName
  scope?: TenantScope
}

// The functions of a route: of their input `I`, that of a load `F`, the answer `A`, what was loaded `L` and prepared `P`.

/** Decided before it runs, on the route and on what was sent. Its action cannot require an approval. */
export interface Handling<I, F, A, L> {
  /** Loads what `handle` shows; null is 404. */
  load?(read: Read, input: F): Promise<L | null>
  handle(input: I, loaded: NoInfer<L>): Promised<A>
}

/** Decided on the loaded resource, before it runs. Its action cannot require an approval. */
export interface OnResource<I, F, A, L> {
  /** Loads the resource; null is 404. */
  load(read: Read, input: F): Promise<L | null>
  /** The object as policies see it; null, which is 404, for callers who must not learn that it exists. */
  resource(loaded: NoInfer<L>, input: I): ResourceOf | null
  handle(input: I, loaded: NoInfer<L>): Promised<A>
}

/**
 * Decided inside the transaction of the change: on what `load` gives, else on what was sent. The same transaction
 * consumes the approval that permits it. The functions do SQL only: after a serialization failure they run again.
 */
export interface Changing<I, A, L, P> {
  /** Loads and locks the object to change; null is 404. */
  load?(tx: Tx, input: I): Promise<L | null>
  /** The loaded object as policies see it. Required with `load`. */
  resource?(loaded: NoInfer<L>, input: I): ResourceOf
  /** Slow work between decision and change, outside any transaction. `act` then has a transaction of its own. */
  prepare?(input: I, loaded: NoInfer<L>): Promise<P>
  /** Whether it only takes access or rights away, as every DELETE does: then it is never 429 `quota_exceeded`. */
  takesAway?(input: I, loaded: NoInfer<L>): boolean
  /** The tenant that `act` writes to, where that is a new one. */
  into?(prepared: NoInfer<P>): string
  /** Wraps the transaction of the change, for example in a limit that does not count failures. */
  around?<T>(
    change: () => Promise<T>,
    known: { input: I; loaded: NoInfer<L>; prepared: NoInfer<P> },
  ): Promise<T>
  /** Makes the change. Throws 409 for a state that does not allow it. Returns `overtaken` to start again with `load`. */
  act(tx: Tx, input: I, loaded: NoInfer<L>, prepared: NoInfer<P>): Promise<A | typeof overtaken>
}

/** Changes many objects in one transaction. The route is decided first, then each object by itself. */
export interface ChangingMany<I, A, P> {
  /** The longest body in bytes. */
  maxBody: number
  /** Reads the items of the body, before the transaction. */
  items(input: I, pace: () => Promise<void>): Promise<P>
  /** Locks, decides and changes the objects. It does SQL only, because it can run again. */
  changeAll(tx: Tx, input: I, items: NoInfer<P>, decisions: ItemDecisions): Promise<A>
}

/** Runs before the body is read: a limit by the caller's address. Throws 429. */
interface Limited {
  before?(requestInfo: RequestInfo): Promise<void>
}

/** Tells the forms of a route apart, for inference and for errors that name the form. */
type Without<Name extends string> = { [name in Name]?: undefined }

type RouteSpec<B extends ZodType, Q extends ZodObject, R extends ZodType, L, P> = Common<B, Q, R> &
  (
    | (Guarded &
        (
          | (Handling<InputOf<B, Q>, LoadInput<B, Q>, Answered<R>, L> &
              Without<'resource' | 'act' | 'changeAll'>)
          | (OnResource<InputOf<B, Q>, LoadInput<B, Q>, Answered<R>, L> & Without<'act' | 'changeAll'>)
          | (Changing<InputOf<B, Q>, Answered<R>, L, P> & Without<'handle' | 'changeAll' | 'readAction'>)
          | (ChangingMany<InputOf<B, Q>, Answered<R>, P> &
              Without<'resource' | 'handle' | 'act' | 'readAction'>)
        ))
    | ({ access: 'optional'; action: ActionName } & Answering<InputOf<B, Q, Caller | null>, Answered<R>>)
    | ({ access: 'public'; action?: undefined } & Limited & Answering<InputOf<B, Q, null>, Answered<R>>)
  )

/** A route that need not know its caller loads nothing before it runs. */
type Answering<I, A> = Handling<I, never, A, unknown> & Without<'load' | 'resource' | 'act' | 'changeAll'>

/** The result of `act` when a concurrent request changed what was decided on or prepared. */
export const overtaken = Symbol('overtaken')

/** A route for the router, the policy engine, the OpenAPI document and the walk tests. */
export type Route = Omit<Common<ZodType, ZodObject, ZodType>, 'body' | 'query' | 'answer'> & {
  access: Access
  action: ActionName | 'public'
  scope: TenantScope
  body: ZodType | undefined
  query: ZodObject | undefined
  answer: ZodType | null
} & (
    | ({ kind: 'handle' } & Limited & Handling<AnyInput, AnyLoadInput, unknown, unknown>)
    | ({ kind: 'resource' } & OnResource<AnyInput, AnyLoadInput, unknown, unknown>)
    | ({ kind: 'change' } & Changing<AnyInput, unknown, unknown, unknown>)
    | ({ kind: 'bulk' } & ChangingMany<AnyInput, unknown, unknown>)
  )

export type AnyInput = RouteInput<unknown, unknown, Caller | null>
export type AnyLoadInput = Omit<RouteInput<unknown, unknown, Bearer>, 'requestInfo'>
const defaults = { body: undefined, query: undefined, scope: 'token', access: 'token' } as const

/**
 * A route. Its functions say when it is decided: with `act` in the transaction of the change, with `changeAll` for each
 * object, with `resource` on what `load` gives, else before it runs. They take what was sent, then what was loaded, then what
 * was prepared; only `resource` begins with what was loaded.
 */
export function route<B extends ZodType, Q extends ZodObject, R extends ZodType, L, P>(
  spec: RouteSpec<B, Q, R, L, P>,
): Route {
  const action = spec.access === 'public' ? 'public' : spec.action
  return { ...defaults, ...spec, action, kind: kindOf(spec) } as unknown as Route
}

const kindOf = (spec: object): Route['kind'] =>
  'act' in spec ? 'change' : 'changeAll' in spec ? 'bulk' : 'resource' in spec ? 'resource' : 'handle'
