import type { SocialProvider } from '../../settings/social-providers.ts'
import { isMarkedVerified, openIdUpstream, type UpstreamDeps } from '../openid-upstream.ts'
import type { Upstream } from '../upstream.ts'
import { clientOf } from './client-of.ts'

/** Any provider of OpenID Connect. Its word for an address counts where the operator says so. */
export const anyOidc = (deps: UpstreamDeps, provider: SocialProvider & { kind: 'oidc' }): Upstream =>
  openIdUpstream(
    deps,
    { ...provider, tenantId: null },
    {
      client: () => clientOf(provider, provider.issuer),
      attribute: 'sub',
      isAuthority: (claims) => provider.trust_email && isMarkedVerified(claims),
    },
  )
