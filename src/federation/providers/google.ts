import type { SocialProvider } from '../../settings/social-providers.ts'
import { isMarkedVerified, openIdUpstream, type UpstreamDeps } from '../openid-upstream.ts'
import type { Upstream } from '../upstream.ts'
import { clientOf } from './client-of.ts'

/**
 * Google. It is the authority for the addresses of gmail.com and of organisations that have Google Workspace, which `hd` of the token
 * says. Of another address it only checked once that the person reads it.
 */
export const google = (deps: UpstreamDeps, provider: SocialProvider & { kind: 'google' }): Upstream =>
  openIdUpstream(
    deps,
    { ...provider, tenantId: null },
    {
      client: () => ({ ...clientOf(provider, 'https://accounts.google.com'), withoutUserinfo: true }),
      attribute: 'sub',
      isAuthority: (claims, email) =>
        isMarkedVerified(claims) &&
        (email.endsWith('@gmail.com') || (typeof claims.hd === 'string' && claims.hd !== '')),
    },
  )
