import {
  type AnswerOf,
  type CallOptions,
  createClient,
  isProblem,
  type Operation,
  type Operations,
  type Problem,
} from '@bailiwick/client'

/** Where the service stands below its host: empty, or a path without a trailing slash. */
export const prefix = document.documentElement.dataset.prefix ?? ''

/** The kinds of second factors that are on. */
export const factorsOn: readonly string[] = (document.documentElement.dataset.factors ?? '').split(' ')

/** The issuer of its tokens. */
export const issuer = document.documentElement.dataset.issuer ?? ''

/**
 * The API as the service has it for the console: below `/console/`, beside the session, with a cookie in place of a token
 * and a header that pages of other origins cannot send.
 */
const client = createClient({
  url: `${prefix}/console`,
  timeoutMs: 30_000, // as long as the service waits for a request
  fetch: (address, { headers, ...init } = {}) =>
    fetch(consoleAddress(String(address)), { ...init, headers: { ...headers, 'X-Bailiwick-Console': '1' } }),
})

const consoleAddress = (address: string) =>
  address
    .replace('/console/api/v1/session/', '/console/session/')
    .replace('/console/api/v1/', '/console/api/')
    .replace('/console/access/v1/', '/console/api/access/')

/** The algorithms that sign ID tokens here, the usual one first, as the discovery document says. */
export async function signingAlgorithms(signal: AbortSignal): Promise<string[]> {
  const answer = await fetch(`${prefix}/.well-known/openid-configuration`, { signal })
  return (await answer.json()).id_token_signing_alg_values_supported
}

type Query<K extends Operation> = {
  [N in keyof Operations[K]['query']]?: string | number | boolean | undefined
}

export interface Input<K extends Operation> extends CallOptions {
  /** Values of `{id}` and others in the path. */
  path?: Record<string, string>
  query?: Query<K>
  body?: Operations[K]['body']
}

type Listener = (problem: Problem) => void
const listeners = new Set<Listener>()

/** Calls back when the service says that the session is over, or needs a second factor. */
export function onSessionProblem(listener: Listener): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

const sessionCodes = ['not_authenticated', 'session_revoked', 'token_not_valid', 'otp_required']

let changes = 0
const watchers = new Set<() => void>()

/** How many changes the service is making for this page. */
export const changesUnderWay = () => changes

export function onChangesUnderWay(watcher: () => void): () => void {
  watchers.add(watcher)
  return () => void watchers.delete(watcher)
}

function count(step: 1 | -1): void {
  changes += step
  for (const watcher of watchers) watcher()
}

/** A call that no operation of the API names: one of the session (`POST /session/`), or by a path without `{id}`. */
export async function request(
  operation: string,
  input: CallOptions & { body?: unknown } = {},
): Promise<unknown> {
  return (await counted(operation, input)).body
}

async function counted(operation: string, input: object): Promise<{ body: unknown; etag: string | null }> {
  const send = () => client.callVersioned(operation as Operation, input as never)
  if (operation.startsWith('GET ')) return send()
  count(1)
  try {
    return await send()
  } finally {
    count(-1)
  }
}

async function send(operation: Operation, input: Input<Operation>) {
  const query = Object.entries(input.query ?? {}).filter(([, value]) => value !== '')
  try {
    return await counted(operation, { ...input, query: Object.fromEntries(query) })
  } catch (error) {
    const ended = isProblem(error, ...sessionCodes) && error.status === 401
    if (ended && !operation.endsWith('/switch-tenant/')) for (const listener of listeners) listener(error)
    throw error
  }
}

/** Calls the API, and gives its answer. */
export async function call<K extends Operation>(operation: K, input: Input<K> = {}): Promise<AnswerOf<K>> {
  return (await send(operation, input as Input<Operation>)).body as AnswerOf<K>
}

/** The same with the version of what was read, for `ifMatch` of a change. */
export async function callVersioned<K extends Operation>(
  operation: K,
  input: Input<K> = {},
): Promise<{ body: AnswerOf<K>; etag: string | null }> {
  return (await send(operation, input as Input<Operation>)) as { body: AnswerOf<K>; etag: string | null }
}
