import type { SocialProvider } from '../../settings/social-providers.ts'
import { isMarkedVerified, openIdUpstream, type UpstreamDeps } from '../openid-upstream.ts'
import type { Upstream } from '../upstream.ts'

/** Any provider of OpenID Connect. Its word for an address counts where the operator says so. */
export const anyOidc = (deps: UpstreamDeps, provider: SocialProvider & { kind: 'oidc' }): Upstream =>
  openIdUpstream(
    deps,
    { ...provider, tenantId: null },
    {
      client: () => ({
        issuer: provider.issuer,
        clientId: provider.client_id,
        clientSecret: provider.client_secret,
        scopes: ['openid', 'email', 'profile'],
        endpoints: provider.endpoints,
      }),
      attribute: 'sub',
      isAuthority: (claims) => provider.trust_email && isMarkedVerified(claims),
    },
  )
