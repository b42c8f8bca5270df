import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'

const agent = new Agent({ keepAlive: true })

/** Sends a request and reads the answer, like `fetch` without redirects, in a third of its CPU time. */
export async function ask(
  url: URL,
  { method, headers, body }: { method: string; headers: Record<string, string>; body?: string | undefined },
): Promise<{ status: number; headers: Headers; text: string }> {
  const length = body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }
  const common = { accept: '*/*', 'user-agent': 'node' }
  const outgoing = request(url, { method, agent, headers: { ...common, ...length, ...headers } })
  outgoing.end(body)
  const answer = once(outgoing, 'response') as Promise<[IncomingMessage]>
  const [response] = await answer.catch((error: NodeJS.ErrnoException) => {
    // The port of a service that ended can be that of the next one. Its old connections are closed, as Node documents.
    if (outgoing.reusedSocket && error.code === 'ECONNRESET') return [null]
    throw error
  })
  if (!response) return ask(url, { method, headers, body })
  return {
    status: response.statusCode ?? 0,
    headers: headersOf(response.rawHeaders),
    text: await text(response),
  }
}

function headersOf(raw: readonly string[]): Headers {
  const headers = new Headers()
  for (let n = 0; n < raw.length; n += 2) headers.append(raw[n]!, raw[n + 1]!)
  return headers
}
