import type { Deps } from '../../deps.ts'
import { invalidField } from '../../errors.ts'
import { rfc3339 } from '../../request/body/schemas.ts'
import { rulesOfUri } from '../call-upstream.ts'
import { readMetadata } from '../saml/ask-saml-thread.ts'
import { fetchMetadata } from '../saml/fetch-metadata.ts'
import type { SamlBody } from './connection-schemas.ts'
import type { SamlConfig } from './store.ts'

type ReadDeps = Pick<Deps, 'config' | 'clock'>

/**
 * Reads the metadata that was uploaded, or that is at an address. It calls outside: use it before a transaction. Throws 400 on
 * `saml.metadata` or `saml.metadata_url` with what is wrong with it.
 */
export async function readIdentityProvider(
  deps: ReadDeps,
  tenantId: string,
  { metadata, metadata_url: url = null }: SamlBody,
): Promise<SamlConfig> {
  const at = deps.clock()
  const field = url === null ? 'saml.metadata' : 'saml.metadata_url'
  const answer = await (url === null
    ? readMetadata(tenantId, metadata!, at)
    : fetchMetadata(deps.config, tenantId, { url, now: at }))
  if ('refused' in answer) throw invalidField(field, answer.refused.detail)
  const { entityId, signInUrl, certificates } = answer.done
  if (!signInUrl.startsWith('https:') && !rulesOfUri(signInUrl, deps.config).allowPrivate)
    throw invalidField(field, `The SingleSignOnService of the metadata is not at https: ${signInUrl}`)
  return {
    metadata_url: url,
    entity_id: entityId,
    sign_in_url: signInUrl,
    certificates: certificates.map(({ fingerprint, endsAt, pem }) => ({
      sha256: fingerprint,
      ends_at: endsAt.toISOString(),
      pem,
    })),
    read_at: rfc3339(at),
    fault: null,
  }
}
