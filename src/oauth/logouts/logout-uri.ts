import { isAllowedHost, type ReceiverRules, whyRefused } from '../../events/webhooks/public-address.ts'
import type { Config } from '../../settings/config.ts'

type Settings = Pick<Config, 'FEDERATION_ALLOW_PRIVATE' | 'FEDERATION_ALLOWED_HOSTS'>

/** Where a client can be told that a session ended. Hosts inside the network are those that the settings name. */
export function logoutRules(uri: string, settings: Settings): ReceiverRules {
  const { FEDERATION_ALLOW_PRIVATE: allowsAll, FEDERATION_ALLOWED_HOSTS: named } = settings
  const isNamed = named.length > 0 && isAllowedHost(uri, { allowPrivate: true, allowedHosts: named })
  return { allowPrivate: allowsAll || isNamed, allowedHosts: [] }
}

/** Why a client cannot be told at a URI, as a sentence; undefined if it can. */
export const whyNoLogoutUri = (uri: string, settings: Settings): string | undefined =>
  uri.includes('#') ? 'Give the URI without a fragment.' : whyRefused(uri, logoutRules(uri, settings))
