import type { Deps } from '../../deps.ts'
import type { ServiceProvider } from '../saml/service-provider.ts'

// Each connection has addresses of its own, so that no provider passes off the answer of another (RFC 9700 §4.4).

/** Where a provider of OpenID Connect sends the browser back to. */
export const callbackOf = ({ publicUrl }: Pick<Deps, 'publicUrl'>, id: string): string =>
  `${publicUrl()}/sign-in/callback/${id}/`

/** What we are to the identity provider of a connection. Our entity id is where our metadata is. */
export const serviceProviderOf = ({ publicUrl }: Pick<Deps, 'publicUrl'>, id: string): ServiceProvider => ({
  entityId: `${publicUrl()}/saml/${id}/metadata`,
  acsUrl: `${publicUrl()}/saml/${id}/acs`,
})
