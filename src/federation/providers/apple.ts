import type { SocialProvider } from '../../settings/social-providers.ts'
import { type Claims, isMarkedVerified, openIdUpstream, type UpstreamDeps } from '../openid-upstream.ts'
import type { Answer, Upstream } from '../upstream.ts'
import { clientOf } from './client-of.ts'

const secretSeconds = 300

/**
 * Apple. It forwards the mail of an address that hides the person's own, and is the authority for both. It answers by POST, because
 * a name was asked for; the name comes once, beside the token and unsigned: it is what the person typed there.
 */
export function apple(deps: UpstreamDeps, provider: SocialProvider & { kind: 'apple' }): Upstream {
  const client = clientOf(provider, 'https://appleid.apple.com')
  return openIdUpstream(
    deps,
    { ...provider, tenantId: null },
    {
      client: async () => ({
        ...client,
        clientSecret: await mintSecret(provider, client.issuer, deps.clock()),
        scopes: ['openid', 'email', 'name'],
        parameters: { response_mode: 'form_post' },
        withoutUserinfo: true,
      }),
      attribute: 'sub',
      isAuthority: isMarkedVerified,
      names: namesOf,
    },
  )
}

/** The secret of a client at Apple is a token that the client signs, of 6 months at most. Ours counts for one exchange. */
async function mintSecret(
  { team_id, key_id, client_id, private_key }: SocialProvider & { kind: 'apple' },
  issuer: string,
  at: number,
): Promise<string> {
  const { importPKCS8, SignJWT } = await import('jose')
  const now = Math.floor(at / 1_000)
  return new SignJWT()
    .setProtectedHeader({ alg: 'ES256', kid: key_id })
    .setIssuer(team_id)
    .setSubject(client_id)
    .setAudience(issuer)
    .setIssuedAt(now)
    .setExpirationTime(now + secretSeconds)
    .sign(await importPKCS8(private_key, 'ES256'))
}

function namesOf({ parameters }: Answer): Claims {
  try {
    const { name } = JSON.parse(parameters.get('user') ?? '{}')
    return { given_name: name?.firstName, family_name: name?.lastName }
  } catch {
    return {}
  }
}
