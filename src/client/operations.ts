import { type Operations, repeatable } from './api-types.ts'

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
  /** Ends the call, its repetitions included. */
  signal?: AbortSignal
}

export type Input<K extends Operation> = PathOf<K> &
  BodyOf<K> &
  CallOptions & { query?: Partial<Operations[K]['query']> }

/** The input, which is optional where no member of it is required. */
export type Inputs<K extends Operation> =
  Record<never, never> extends Input<K> ? [input?: Input<K>] : [input: Input<K>]

/** The parts of an input, whatever the operation. */
export interface AnyInput extends CallOptions {
  path?: Record<string, string> | undefined
  query?: Record<string, unknown> | undefined
  body?: unknown
}

/** Method and target of an operation. Throws a TypeError for a missing value of the path, or one that is no id. */
export function requestOf(operation: string, { path = {}, query = {} }: AnyInput) {
  const [method = '', form = ''] = operation.split(' ')
  const filled = form.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = path[name] ?? ''
    // Dots would lead to another address.
    if (!/^[\w-]+$/.test(value)) throw new TypeError(`${operation} needs an id as ${name}`)
    return value
  })
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null)
  const search = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))
  const root = filled.startsWith('/access/') ? filled.replace('/access/', '/access/v1/') : `/api/v1${filled}`
  return { method, target: search.size > 0 ? `${root}?${search}` : root }
}

/** How a call can be repeated: as it is, with an `Idempotency-Key`, or not. */
export function repetitionOf(operation: string): 'plain' | 'keyed' | 'never' {
  if (repeatable.has(operation)) return 'keyed'
  // Evaluations and searches change nothing. A refresh that is repeated at once gets the same pair.
  const isHarmless = /^((GET|PUT|DELETE) |POST \/access\/|POST \/auth\/refresh\/$)/.test(operation)
  return isHarmless ? 'plain' : 'never'
}
