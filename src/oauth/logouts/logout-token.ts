import { signClaims } from '../../crypto/token-signer.ts'
import type { Deps } from '../../deps.ts'
import { algorithmOf } from '../client-metadata.ts'
import { clientIdOf } from '../clients/client-id.ts'
import type { UsableClient } from '../clients/store.ts'
import { providerKeys } from '../provider-keys.ts'
import type { LogoutRow } from './store.ts'

const seconds = 120
const event = 'http://schemas.openid.net/event/backchannel-logout'

/**
 * A logout token (OpenID Connect Back-Channel Logout 1.0 §2.4), signed as the client's ID tokens are. It lasts 2 min. Tokens of
 * one logout have the same `jti`, so that a client knows one that comes again.
 */
export async function logoutToken(
  deps: Deps,
  client: UsableClient,
  { id, user_id, sid }: Pick<LogoutRow, 'id' | 'user_id' | 'sid'>,
): Promise<string> {
  const { signing, algorithms } = await providerKeys(deps)
  const alg = algorithmOf(client, algorithms)
  const key = signing.find(({ algorithm }) => algorithm === alg)!
  const iat = Math.floor(deps.clock() / 1000)
  return signClaims(key, 'logout+jwt', {
    iss: deps.publicUrl(),
    sub: user_id,
    aud: clientIdOf({ tenantId: client.tenant_id, id: client.id }),
    iat,
    exp: iat + seconds,
    jti: id,
    events: { [event]: {} },
    sid,
  })
}
