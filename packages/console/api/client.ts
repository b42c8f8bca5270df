import type { Operations } from '../../client/api-types.ts'
import { Problem } from './problem.ts'

/** Where the service stands below its host: empty, or a path without a trailing slash. */
export const prefix = document.documentElement.dataset.prefix ?? ''

export type Operation = keyof Operations
type Query<K extends Operation> = {
  [N in keyof Operations[K]['query']]?: string | number | boolean | undefined
}

export interface Input<K extends Operation> {
  /** Values of `{id}` and others in the path. */
  path?: Record<string, string>
  query?: Query<K>
  body?: Operations[K]['body']
  headers?: Record<string, string>
  signal?: AbortSignal
}

type Listener = (problem: Problem) => void
const listeners = new Set<Listener>()

/** Calls back when the service says that the session is over, or needs a second factor. */
export function onSessionProblem(listener: Listener): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

const sessionCodes = new Set(['not_authenticated', 'session_revoked', 'token_not_valid', 'otp_required'])

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

type Sent = { body?: unknown; headers?: Record<string, string>; signal?: AbortSignal }

/** One request below `/console/`. Throws {@link Problem}. */
export async function request(method: string, path: string, sent: Sent = {}) {
  if (method === 'GET') return ask(method, path, sent)
  count(1)
  try {
    return await ask(method, path, sent)
  } finally {
    count(-1)
  }
}

async function ask(
  method: string,
  path: string,
  { body, headers, signal }: Sent,
): Promise<{ body: unknown; etag: string | null }> {
  const answer = await fetch(`${prefix}/console${path}`, {
    method,
    headers: {
      Accept: 'application/json',
      ...(method !== 'GET' && { 'X-Bailiwick-Console': '1' }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  })
  const text = await answer.text()
  const value = text === '' ? null : parsed(text)
  if (answer.ok) return { body: value, etag: answer.headers.get('etag') }
  const after = Number(answer.headers.get('retry-after') ?? '')
  throw new Problem(answer.status, (value ?? {}) as Record<string, unknown>, after > 0 ? after : null)
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

async function send<K extends Operation>(operation: K, input: Input<K>) {
  const [method = '', form = ''] = operation.split(' ')
  const path = form
    .replace('/access/v1/', '/access/')
    .replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(input.path?.[name] ?? ''))
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(input.query ?? {}))
    if (value !== undefined && value !== '') query.set(name, String(value))
  const search = query.size > 0 ? `?${query}` : ''
  const { headers, signal } = input
  try {
    return await request(method, `/api${path}${search}`, {
      ...('body' in input && { body: input.body }),
      ...(headers && { headers }),
      ...(signal && { signal }),
    })
  } catch (error) {
    const ended = error instanceof Problem && error.status === 401 && sessionCodes.has(error.code)
    if (ended && !operation.endsWith('/switch-tenant/')) for (const listener of listeners) listener(error)
    throw error
  }
}

/** Calls the API, and gives its answer. Throws {@link Problem}. */
export async function call<K extends Operation>(
  operation: K,
  input: Input<K> = {},
): Promise<Operations[K]['answer']> {
  return (await send(operation, input)).body as Operations[K]['answer']
}

/** The same with the version of what was read, for `If-Match` of a change. */
export async function callVersioned<K extends Operation>(
  operation: K,
  input: Input<K> = {},
): Promise<{ body: Operations[K]['answer']; etag: string | null }> {
  return (await send(operation, input)) as { body: Operations[K]['answer']; etag: string | null }
}
