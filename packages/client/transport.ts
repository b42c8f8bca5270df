import { NoAnswer, Problem } from './problem.ts'

export interface Transport {
  /** Address of the service, with its path if it has one. */
  url: string
  fetch: typeof fetch
  /** ms for one attempt. */
  timeoutMs: number
}

export interface Exchange {
  method: string
  /** Path and query, from the root of the service. */
  target: string
  token: string | null
  body: unknown
  headers: Record<string, string>
  signal: AbortSignal | undefined
}

export interface Answer {
  /** The JSON of the answer; undefined for an answer without a body. */
  body: unknown
  etag: string | null
}

/** One attempt at a request. Throws {@link Problem}, and {@link NoAnswer}. Rejects with the reason of `signal`. */
export async function exchange(transport: Transport, request: Exchange): Promise<Answer> {
  const { method, token, body, signal } = request
  const isFile = body instanceof Blob
  const limit = AbortSignal.timeout(transport.timeoutMs)
  const headers = {
    accept: 'application/json, application/problem+json',
    ...(body !== undefined && { 'content-type': isFile ? body.type : 'application/json' }),
    ...(token !== null && { authorization: `Bearer ${token}` }),
    ...request.headers,
  }
  try {
    const answer = await transport.fetch(rootOf(transport.url) + request.target, {
      method,
      headers,
      ...(body !== undefined && { body: isFile ? body : JSON.stringify(body) }),
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      // The service redirects no call. Following one could send the token to another server.
      redirect: 'error',
    })
    return await read(answer)
  } catch (error) {
    if (error instanceof Problem) throw error
    signal?.throwIfAborted()
    throw new NoAnswer(error)
  }
}

async function read(answer: Response): Promise<Answer> {
  const text = await answer.text()
  if (answer.ok) return { body: text === '' ? undefined : JSON.parse(text), etag: answer.headers.get('etag') }
  const after = Number(answer.headers.get('retry-after') ?? '')
  throw new Problem(answer.status, membersOf(text), after > 0 ? after : null)
}

/** A proxy can answer with a page of its own. */
function membersOf(text: string): Record<string, unknown> {
  try {
    const members: unknown = JSON.parse(text)
    return typeof members === 'object' && members !== null ? (members as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** The address of the service without trailing slashes. */
export const rootOf = (url: string): string => url.replace(/\/+$/, '')
