import { callOutside, type FederationSettings } from '../call-upstream.ts'
import { type Answer, readMetadata } from './ask-saml-thread.ts'
import type { IdentityProviderMetadata } from './metadata.ts'
import { maxBytes } from './refusal.ts'

const limits = { ms: 10_000, bytes: maxBytes }

/** Reads the metadata that an identity provider publishes at an https URL, at an address that the settings allow. */
export async function fetchMetadata(
  settings: FederationSettings,
  tenantId: string,
  { url, now }: { url: string; now: number },
): Promise<Answer<IdentityProviderMetadata>> {
  const headers = { Accept: 'application/samlmetadata+xml, application/xml, text/xml' }
  try {
    const answer = await callOutside(settings, url, { headers }, limits)
    if (answer.ok) return readMetadata(tenantId, await answer.text(), now)
    return unreachable(`it answered ${answer.status}`)
  } catch (error) {
    return unreachable((error as Error).message)
  }
}

const unreachable = (why: string) => ({
  refused: {
    code: 'metadata_unreachable',
    detail: `The metadata cannot be read at this URL: ${why}.`,
  } as const,
})
