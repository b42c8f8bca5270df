import { createPublicKey, hash } from 'node:crypto'
import { z } from 'zod'

/** How applications can sign what they prove themselves by: never with a shared secret. Ed25519 has two names (RFC 9864). */
export const assertionAlgorithms = ['ES256', 'RS256', 'PS256', 'EdDSA', 'Ed25519'] as const

const algorithmsOf: Record<string, readonly string[]> = {
  EC: ['ES256'],
  RSA: ['RS256', 'PS256'],
  OKP: ['EdDSA', 'Ed25519'],
}

/** A key as it is kept: what the algorithm needs, and `kid` and `alg` where they were given. */
export type PublicKey = Record<string, string>

const given = z.looseObject(
  {
    kid: z.string('Give kid as text.').min(1).max(200).optional(),
    alg: z.enum(assertionAlgorithms, `Give one of ${assertionAlgorithms.join(', ')}.`).optional(),
    use: z.literal('sig', 'The key is for signatures: sig.').optional(),
  },
  'Give each key as a JSON Web Key.',
)

const publicKey = given.transform((jwk, context): PublicKey => {
  const read = publicPartOf(jwk)
  if (typeof read !== 'string') return read
  context.addIssue({ code: 'custom', message: read })
  return z.NEVER
})

/** The public keys of a client (RFC 7517 §5). Throws for one that is private, symmetric, weak, or of another algorithm. */
export const publicKeys = z
  .object(
    {
      keys: z
        .array(publicKey, 'Give the keys as a list.')
        .min(1, 'Give at least one key.')
        .max(10, 'A client can have at most 10 keys.'),
    },
    'Give a JSON Web Key Set: {"keys": […]}.',
  )
  .meta({
    description: 'The public keys of `private_key_jwt`: EC P-256, Ed25519, or RSA of 2,048 to 4,096 bits',
    override: {
      type: 'object',
      properties: {
        keys: {
          type: 'array',
          items: { type: 'object', additionalProperties: true },
          minItems: 1,
          maxItems: 10,
        },
      },
      required: ['keys'],
    },
  })

/** The public part of a JSON Web Key; a sentence for a text that is none, or that no application should have. */
function publicPartOf({ kid, alg, ...jwk }: z.output<typeof given>): PublicKey | string {
  if ('d' in jwk || 'k' in jwk) return 'This key is secret. Make a new pair, and give its public key alone.'
  const read = keyOf(jwk)
  if (!read) return 'Give the public key of EC P-256, Ed25519, or RSA of 2,048 to 4,096 bits.'
  if (alg && !algorithmsOf[read.kty!]?.includes(alg)) return `A key of this type does not sign with ${alg}.`
  return { ...read, ...(kid && { kid }), ...(alg && { alg }), use: 'sig' }
}

function keyOf(jwk: object): PublicKey | null {
  try {
    const key = createPublicKey({ key: jwk as never, format: 'jwk' })
    const { namedCurve, modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
    const isStrong =
      key.asymmetricKeyType === 'ed25519' ||
      (key.asymmetricKeyType === 'ec' && namedCurve === 'prime256v1') ||
      (key.asymmetricKeyType === 'rsa' &&
        modulusLength >= 2_048 &&
        modulusLength <= 4_096 &&
        publicExponent >= 65_537n &&
        publicExponent < 2n ** 32n)
    return isStrong ? (key.export({ format: 'jwk' }) as PublicKey) : null
  } catch {
    return null
  }
}

/** What tells keys apart in the audit log: the `kid`, and a SHA-256. */
export const fingerprintsOf = (keys: readonly PublicKey[]): string[] =>
  keys.map((key) => [key.kid, hash('sha256', JSON.stringify(key), 'base64url')].filter(Boolean).join(' '))
