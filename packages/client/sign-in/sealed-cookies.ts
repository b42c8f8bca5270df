import { EncryptJWT, jwtDecrypt } from 'jose'

/** Browsers keep a cookie of up to 4,096 bytes, with its name and attributes. */
export const maxCookieBytes = 3_900

/** Encrypts values (JWE, A256GCM) that browsers keep and cannot read or change. */
export interface Sealer {
  seal(purpose: string, value: object, seconds: number): Promise<string>
  /** Null for what was sealed for another purpose, by another secret, or is over its time. */
  open<V>(purpose: string, sealed: string | undefined): Promise<V | null>
}

/** `secrets` have 32 characters or more: the first one seals, and all open. `owner` keeps applications apart. */
export function sealer(secrets: readonly string[], owner: string): Sealer {
  if (secrets.length === 0 || secrets.some((secret) => !(secret?.length >= 32)))
    throw new TypeError(
      'cookieSecret needs 32 random characters or more. Make one with: openssl rand -base64 32',
    )
  const keys = secrets.map(async (secret) => {
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(secret))
    return new Uint8Array(digest)
  })
  const audience = (purpose: string) => `${owner} ${purpose}`
  return {
    async seal(purpose, value, seconds) {
      return new EncryptJWT({ value })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setAudience(audience(purpose))
        .setExpirationTime(Math.floor(Date.now() / 1000) + seconds)
        .encrypt(await keys[0]!)
    },
    async open<V>(purpose: string, sealed: string | undefined) {
      if (!sealed) return null
      const options = {
        audience: audience(purpose),
        requiredClaims: ['exp'],
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
      }
      for (const key of keys)
        try {
          return (await jwtDecrypt<{ value: V }>(sealed, await key, options)).payload.value
        } catch {}
      return null
    },
  }
}

/** The cookie of a header `Cookie`. */
export function cookieOf(header: string | null | undefined, name: string): string | undefined {
  const pair = header?.split(/; */).find((one) => one.startsWith(`${name}=`))
  return pair?.slice(name.length + 1)
}

/** A `Cookie` header with another value of one cookie; without that cookie if the value is empty. */
export const withCookie = (header: string | null | undefined, name: string, value: string): string =>
  [
    ...(header?.split(/; */).filter((one) => one && !one.startsWith(`${name}=`)) ?? []),
    value && `${name}=${value}`,
  ]
    .filter(Boolean)
    .join('; ')
