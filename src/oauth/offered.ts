import { apiAudience } from '../crypto/token-signer.ts'
import type { Config } from '../settings/config.ts'

/** Why the service offers no OpenID Connect, as the end of a sentence; null if it does. */
export function whyNotOffered(config: Config): string | null {
  const { HOSTED_PAGES, PUBLIC_URL, JWT_ISSUER, JWT_AUDIENCE, production } = config
  if (!HOSTED_PAGES) return 'HOSTED_PAGES is false, and people sign in on those pages'
  if (production && !PUBLIC_URL) return 'PUBLIC_URL is not set, and it is the issuer'
  if (JWT_ISSUER !== undefined && JWT_ISSUER !== PUBLIC_URL)
    return 'JWT_ISSUER is not PUBLIC_URL, and a service has one issuer'
  if (JWT_AUDIENCE === apiAudience(PUBLIC_URL ?? ''))
    return 'JWT_AUDIENCE is that of the tokens that applications get for this API'
  return null
}
