import http, { type RequestListener, type Server, type ServerOptions } from 'node:http'
import https from 'node:https'
import type { Certificate } from '../crypto/certificate.ts'

/** Less than the time that a stop has for open connections. Node's own value is 120 s. */
const handshakeTimeout = 10_000

/**
 * A server that does not listen yet. With a certificate it speaks TLS 1.2 and 1.3 only, and no plain HTTP. A handshake
 * that takes more than 10 s fails.
 */
export function newServer(
  { TLS_CERTIFICATE: cert, TLS_PRIVATE_KEY: key }: Certificate,
  options: ServerOptions,
  answer: RequestListener,
): Server {
  if (cert === undefined || key === undefined) return http.createServer(options, answer)
  return https.createServer({ ...options, cert, key, minVersion: 'TLSv1.2', handshakeTimeout }, answer)
}
