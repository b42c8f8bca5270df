import type { Config } from '../../settings/config.ts'
import { browserUrl } from '../../settings/loopback.ts'

/** What a passkey is bound to: the relying party's domain, and the origins of the pages that can use it. */
export interface RelyingParty {
  id: string
  origins: string[]
}

interface PartyDeps {
  config: Pick<Config, 'PASSKEY_RP_ID' | 'PASSKEY_ORIGINS'>
  publicUrl: () => string
}

/**
 * The relying party by the settings, never by a request. The defaults are the host and the origin of the public address.
 */
export function relyingParty({ config, publicUrl }: PartyDeps): RelyingParty {
  const url = new URL(browserUrl(publicUrl()))
  return { id: config.PASSKEY_RP_ID ?? url.hostname, origins: config.PASSKEY_ORIGINS ?? [url.origin] }
}
