import http, { type RequestListener, type Server, type ServerOptions } from 'node:http'
import https from 'node:https'
import { createSecureContext } from 'node:tls'
import { describeError } from '../observe/describe-error.ts'

/** A certificate with its chain, and its key, as PEM. Without them a server speaks plain HTTP. */
export interface Certificate {
  TLS_CERTIFICATE?: string | undefined
  TLS_PRIVATE_KEY?: string | undefined
}

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

/** Why a server cannot use these settings, for an operator; undefined if it can. */
export function certificateFault({
  TLS_CERTIFICATE: cert,
  TLS_PRIVATE_KEY: key,
}: Certificate): string | undefined {
  if (cert === undefined && key === undefined) return undefined
  if (cert === undefined) return 'TLS_PRIVATE_KEY needs TLS_CERTIFICATE'
  if (key === undefined) return 'TLS_CERTIFICATE needs TLS_PRIVATE_KEY'
  try {
    createSecureContext({ cert, key })
    return undefined
  } catch (error) {
    return `TLS_CERTIFICATE and TLS_PRIVATE_KEY must be a certificate and its key, both as PEM: ${describeError(error)}`
  }
}
