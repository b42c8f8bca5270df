import type { Deps } from '../../deps.ts'
import { openIdUpstream, withoutUnverified } from '../openid-upstream.ts'
import { samlUpstream } from '../saml/saml.ts'
import type { Upstream } from '../upstream.ts'
import { serviceProviderOf } from './addresses.ts'
import type { ConnectionClient } from './store.ts'

/**
 * A connection as an upstream, whatever its status. The verified domains of its tenant are not asked here: `isAuthority` is always
 * false.
 */
export function connectionUpstream(
  deps: Pick<Deps, 'config' | 'clock' | 'sealer' | 'publicUrl'>,
  connection: ConnectionClient,
): Upstream {
  const { id, kind, name, tenant_id: tenantId, subject_attribute: attribute } = connection
  const about = { id, kind, name, tenantId }
  if (connection.kind === 'saml') {
    const { entity_id: idpEntityId, sign_in_url: signInUrl, certificates } = connection.config
    return samlUpstream(deps, about, {
      ...serviceProviderOf(deps, id),
      ...{ idpEntityId, signInUrl, certificates: certificates.map(({ pem }) => pem) },
      subjectAttribute: attribute,
    })
  }
  const { issuer, client_id: clientId, scopes } = connection.config
  const sealed = connection.client_secret_sealed
  const client = () => {
    const clientSecret = deps.sealer.open('connection', sealed, `${tenantId}.${id}`)
    return { issuer, clientId, clientSecret, scopes }
  }
  return openIdUpstream(deps, about, {
    client,
    attribute,
    isAuthority: () => false,
    counting: withoutUnverified,
  })
}
