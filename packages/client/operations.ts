import { type Operations, type Problem, repeatable } from './api-types.ts'

/** A call by its method and path, as the OpenAPI document names it: `GET /users/me/`. */
export type Operation = keyof Operations

export type AnswerOf<K extends Operation> = Operations[K]['answer']

/** Operations that answer a page of a list. */
export type ListOperation = {
  [K in Operation]: AnswerOf<K> extends { results: unknown[]; next: string | null } ? K : never
}[Operation]

export type RowOf<K extends Operation> = AnswerOf<K> extends { results: (infer Row)[] } ? Row : never

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never
/** Operations whose call can be stored until it is approved. */
export type StorableOperation = {
  [K in Operation]: Operations[K] extends { stored: true } ? K : never
}[Operation]

/** The answer to a call that is stored until it is approved, and then carried out. */
export interface Stored {
  approval_request: NonNullable<Problem['approval_request']>
}

type PathOf<K extends Operation> = [NamesIn<K>] extends [never]
  ? { path?: undefined }
  : { path: Record<NamesIn<K>, string> }
type BodyOf<K extends Operation> = Operations[K]['body'] extends undefined
  ? { body?: undefined }
  : Record<never, never> extends Operations[K]['body']
    ? { body?: Operations[K]['body'] }
    : { body: Operations[K]['body'] }

export interface CallOptions {
  /** The `etag` of the version that you read: a change of another version is 412. */
  ifMatch?: string
  /** The id of the approved request for exactly this call. */
  approvalRequest?: string
  /** Your own key for this call, for repetitions from another process. The client makes one where it is missing. */
  idempotencyKey?: string
  /** ms for the call with its repetitions. No limit if absent, only `timeoutMs` for each attempt. */
  deadlineMs?: number
  /** Ends the call, its repetitions included. */
  signal?: AbortSignal
}

export type Input<K extends Operation> = PathOf<K> &
  BodyOf<K> &
  CallOptions & { query?: Partial<Operations[K]['query']> }

/**
 * The input, which is optional where no member of it is required. For a name that is no operation, TypeScript takes `K` for
 * all operations: then the input is not checked, so that the error is about the name.
 */
export type Inputs<K extends Operation> = Operation extends K
  ? [input?: AnyInput]
  : Record<never, never> extends Input<K>
    ? [input?: Input<K>]
    : [input: Input<K>]

/** The parts of an input, whatever the operation. */
export interface AnyInput extends CallOptions {
  path?: Record<string, string> | undefined
  query?: Record<string, unknown> | undefined
  body?: unknown
  /** Has a call stored that needs an approval. */
  prefer?: 'respond-async'
}

/** Method and target of an operation. Throws a TypeError for a value of the path that is missing, or leads elsewhere. */
export function requestOf(operation: string, { path = {}, query = {} }: AnyInput) {
  const [method = '', form = ''] = operation.split(' ')
  const filled = form.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = path[name] ?? ''
    if (!(name.startsWith('resource_') ? isName : isId)(value))
      throw new TypeError(`${operation} needs an id as ${name}, and got "${value}"`)
    return encodeURIComponent(value)
  })
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  const search = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))
  const root = /^\/(access|\.well-known)\//.test(filled) ? filled : `/api/v1${filled}`
  return { method, target: search.size > 0 ? `${root}?${search}` : root }
}

const isId = (value: string) => /^[\w-]+$/.test(value)
// What an application names its resources. Dots would lead to another address: at a proxy, also between encoded slashes.
const isName = (value: string) => value !== '' && !/(^|[/\\])\.{1,2}($|[/\\])/.test(value)

/** How a call can be repeated: as it is, with an `Idempotency-Key`, or not. */
export function repetitionOf(operation: string): 'plain' | 'keyed' | 'never' {
  if (repeatable.has(operation)) return 'keyed'
  // Evaluations and searches change nothing. A refresh that is repeated at once gets the same pair, and a consumption of
  // the same operation the same request.
  const isHarmless =
    /^((GET|PUT|DELETE) |POST \/access\/|POST \/auth\/refresh\/$|POST \/approval-requests\/\{id\}\/consume\/$)/.test(
      operation,
    )
  return isHarmless ? 'plain' : 'never'
}
