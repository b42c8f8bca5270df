import { hash } from 'node:crypto'
import { calculateJwkThumbprint, EmbeddedJWK, jwtVerify } from 'jose'
import type { Context } from 'koa'
import { unauthorized } from '../errors.ts'

// RFC 9449: a token that is bound to a key works with a proof alone, which the holder of the key signs for one request. Only public-key
// algorithms count: a shared secret would prove nothing.

/** How proofs are signed. Ed25519 has two names (RFC 9864). */
export const proofAlgorithms = ['ES256', 'RS256', 'PS256', 'EdDSA', 'Ed25519'] as const

/** A proof is of now, give or take. In s. */
const window = 60
const maxLength = 4_096
const maxKept = 100_000

interface Presented {
  http: Context
  token: string
  /** The scheme of the `Authorization` header. */
  isProven: boolean
  /** The thumbprint of the key that the token is bound to (RFC 7638); undefined: to none. */
  jkt: string | undefined
}

type CheckProof = (presented: Presented) => Promise<void>

/**
 * Checks what a request proves about its token (RFC 9449 §4.3, §7). A proof works once in each process. Rejects with 401 `token_not_valid`.
 */
export function proofChecker({
  publicUrl,
  clock,
}: {
  publicUrl: () => string
  clock: () => number
}): CheckProof {
  const used = usedOnce()
  return async ({ http, token, isProven, jkt }) => {
    if (jkt === undefined && !isProven) return
    if (jkt === undefined) throw refused('invalid_token', 'This token is bound to no key: send it as Bearer.')
    if (!isProven)
      throw refused('invalid_token', 'This token is bound to a key: send it as DPoP, with a proof.')
    const now = clock()
    const fault = await faultOf(http, { token, jkt, now, htu: publicUrl() + http.path })
    if (typeof fault === 'string')
      throw refused('invalid_dpop_proof', `The DPoP proof is not valid: ${fault}.`)
    if (!used(`${jkt}.${fault.jti}`, now))
      throw refused('invalid_dpop_proof', 'The DPoP proof was used already.')
  }
}

/** What is wrong with the proof of a request, or what tells it from others. */
async function faultOf(
  http: Context,
  { token, jkt, now, htu }: { token: string; jkt: string; now: number; htu: string },
): Promise<string | { jti: string }> {
  // Several header fields of one name are joined by commas, which no proof has.
  const proof = http.get('dpop')
  if (proof === '') return 'there is none'
  if (proof.length > maxLength) return 'it is too long'
  const verified = await jwtVerify(proof, EmbeddedJWK, {
    algorithms: [...proofAlgorithms],
    typ: 'dpop+jwt',
    currentDate: new Date(now),
    clockTolerance: window,
  }).catch(() => null)
  if (!verified) return 'its signature, type or algorithm'
  const { payload, protectedHeader } = verified
  const { jti, iat, htm, ath } = payload
  if ((await calculateJwkThumbprint(protectedHeader.jwk!)) !== jkt) return 'it is of another key'
  if (typeof jti !== 'string' || jti === '' || jti.length > 200) return 'jti'
  if (typeof iat !== 'number' || Math.abs(now / 1000 - iat) > window) return 'iat'
  if (htm !== http.method) return 'htm'
  if (ath !== hash('sha256', token, 'base64url')) return 'ath'
  return addressOf(payload.htu) === addressOf(htu) ? { jti } : 'htu'
}

/** A URI without query and fragment, in the form that is compared (RFC 3986 §6.2.2 and §6.2.3); undefined for none. */
function addressOf(uri: unknown): string | undefined {
  const url = typeof uri === 'string' ? URL.parse(uri) : null
  return url ? url.origin + url.pathname : undefined
}

/** Says whether a text is new within the time in which a proof works. */
function usedOnce(): (text: string, now: number) => boolean {
  const kept = new Map<string, number>()
  return (text, now) => {
    for (const [oldest, at] of kept) {
      if (at > now - 2 * window * 1000 && kept.size < maxKept) break
      kept.delete(oldest)
    }
    if (kept.has(text)) return false
    kept.set(text, now)
    return true
  }
}

/** RFC 9449 §7.1 */
function refused(error: 'invalid_token' | 'invalid_dpop_proof', message: string) {
  const refusal = unauthorized('token_not_valid', message)
  refusal.headers['WWW-Authenticate'] = `DPoP error="${error}", algs="${proofAlgorithms.join(' ')}"`
  return refusal
}
