import { isAllowedHost, type ReceiverRules, whyRefused } from '../events/webhooks/public-address.ts'
import type { Config } from '../settings/config.ts'

/** The settings that name hosts inside the network for applications and identity providers. */
export type FederationSettings = Pick<Config, 'FEDERATION_ALLOW_PRIVATE' | 'FEDERATION_ALLOWED_HOSTS'>

/** Where the service calls a client: for its keys, and to tell it that a session ended. */
export function rulesOfUri(uri: string, settings: FederationSettings): ReceiverRules {
  const { FEDERATION_ALLOW_PRIVATE: allowsAll, FEDERATION_ALLOWED_HOSTS: named } = settings
  const isNamed = named.length > 0 && isAllowedHost(uri, { allowPrivate: true, allowedHosts: named })
  return { allowPrivate: allowsAll || isNamed, allowedHosts: [] }
}

/** Why a client cannot be called at a URI, as a sentence; undefined if it can. */
export const whyNotCalled = (uri: string, settings: FederationSettings): string | undefined =>
  uri.includes('#') ? 'Give the URI without a fragment.' : whyRefused(uri, rulesOfUri(uri, settings))
