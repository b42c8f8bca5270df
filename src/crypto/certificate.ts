import { createSecureContext } from 'node:tls'
import { describeError } from '../observe/describe-error.ts'

/** A certificate with its chain, and its key, as PEM. Without them a server speaks plain HTTP. */
export interface Certificate {
  TLS_CERTIFICATE?: string | undefined
  TLS_PRIVATE_KEY?: string | undefined
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
