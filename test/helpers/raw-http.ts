import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** One answer as it was received. */
export interface RawAnswer {
  status: number
  headers: Record<string, string>
  body: string
}

/** The result of a connection: all answers, and whether the server closed it within the time limit. */
export interface Exchange {
  answers: RawAnswer[]
  closed: boolean
}

/**
 * Writes `parts` unchanged to a new connection, also bytes that no client would send. Reads until the server closes,
 * `ms` have passed or, unless `untilClosed`, there are `expected` answers.
 */
export async function exchange(
  url: string,
  parts: (string | Buffer)[],
  {
    expected = 1,
    ms = 2_000,
    untilClosed = false,
  }: { expected?: number; ms?: number; untilClosed?: boolean } = {},
): Promise<Exchange> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const received: Buffer[] = []
  let closed = false
  socket.on('data', (data) => received.push(data))
  socket.on('error', () => undefined) // a reset connection counts as closed
  socket.on('close', () => {
    closed = true
  })
  await once(socket, 'connect')
  for (const part of parts) socket.write(part)
  const read = () => parseAnswers(Buffer.concat(received).toString('latin1'))
  for (const end = Date.now() + ms; !closed && Date.now() < end; await sleep(5))
    if (read().length >= expected && !untilClosed) break
  socket.destroy()
  return { answers: read(), closed }
}

/** A request as text, with the length of its body unless `headers` set another one. */
export function requestText(
  method: string,
  target: string,
  headers: Record<string, string> = {},
  body: string | Buffer = '',
): Buffer {
  const framed = Object.keys(headers).some((name) => /^(content-length|transfer-encoding)$/i.test(name))
  const bytes = Buffer.from(body)
  const all = {
    host: 'localhost',
    ...(bytes.length > 0 && !framed && { 'content-length': String(bytes.length) }),
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`), bytes])
}

function parseAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = []
  let rest = text
  for (;;) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) return answers
    const [first = '', ...lines] = rest.slice(0, end).split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    )
    const length = Number(headers['content-length'] ?? 0)
    const status = Number(first.split(' ')[1])
    rest = rest.slice(end + 4)
    if (rest.length < length) return answers
    if (status !== 100) answers.push({ status, headers, body: rest.slice(0, length) })
    rest = rest.slice(length)
  }
}
