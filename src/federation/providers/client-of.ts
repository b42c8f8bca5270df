import type { SocialProvider } from '../../settings/social-providers.ts'
import type { OidcClient } from '../oidc.ts'

/** The client that the setting names, at a provider of OpenID Connect. */
export const clientOf = ({ client_id, endpoints, ...more }: SocialProvider, issuer: string): OidcClient => ({
  issuer: more.issuer ?? issuer,
  clientId: client_id,
  clientSecret: 'client_secret' in more ? more.client_secret : '',
  scopes: ['openid', 'email', 'profile'],
  endpoints,
})
