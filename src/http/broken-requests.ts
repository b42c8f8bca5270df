import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { ApiError } from '../errors.ts'
import { problemBody } from './problem.ts'

/** Answers by the code of Node's parser. Any other code means that the message is not HTTP. */
const faults: Record<string, [status: number, phrase: string, code: string, detail: string]> = {
  HPE_HEADER_OVERFLOW: [
    431,
    'Request Header Fields Too Large',
    'headers_too_large',
    'The headers are too long.',
  ],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'Payload Too Large', 'payload_too_large', 'The body is too long.'],
  ERR_HTTP_REQUEST_TIMEOUT: [
    408,
    'Request Timeout',
    'request_timeout',
    'The request did not arrive in time.',
  ],
}

/**
 * Answers messages that are not valid requests (RFC 9112 §2.2) in the form of all other errors. It closes the
 * connection, because the start of the next message is unknown. A failed TLS handshake gets no answer.
 */
export function answerBrokenRequests(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const code = error.code ?? ''
    if (isUnreachable(code) || !socket.writable || isAnswered(socket as Socket)) return socket.destroy()
    socket.end(answerTo(code), () => socket.destroy())
  })
}

/** Without a finished handshake the socket counts as writable, but what is written waits for the handshake. */
const isUnreachable = (code: string) => code === 'ECONNRESET' || /^ERR_(TLS|SSL)_/.test(code)

/** True when headers of an answer were sent already: a second answer would become part of its body. */
const isAnswered = (socket: Socket) =>
  (socket as { _httpMessage?: { headersSent: boolean } })._httpMessage?.headersSent ?? false

function answerTo(code: string): string {
  const [status, phrase, name, detail] = faults[code] ?? [
    400,
    'Bad Request',
    'parse_error',
    'This is not an HTTP request.',
  ]
  const id = randomUUID()
  const body = JSON.stringify(problemBody(new ApiError(status, name, detail), id))
  const headers = {
    'Content-Type': 'application/problem+json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'X-Content-Type-Options': 'nosniff',
    'X-Request-Id': id,
    'Cache-Control': 'no-store',
    Connection: 'close',
  }
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}`)
  return [`HTTP/1.1 ${status} ${phrase}`, ...lines, '', body].join('\r\n')
}
