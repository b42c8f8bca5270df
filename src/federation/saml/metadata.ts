import { X509Certificate } from 'node:crypto'
import { maxBytes, quoted, refuse } from './refusal.ts'
import { instantOf } from './times.ts'
import { childrenNamed, is, namespace, readXml, type XmlElement } from './xml.ts'

/** What a connection keeps of the metadata of an identity provider. */
export interface IdentityProviderMetadata {
  entityId: string
  /** Where browsers take requests, by the redirect binding. */
  signInUrl: string
  /** That sign responses; 1 to 8. An identity provider names two of them while it replaces one. */
  certificates: SigningCertificate[]
}

export interface SigningCertificate {
  pem: string
  /** SHA-256 in hex, with colons. */
  fingerprint: string
  endsAt: Date
}

const redirectBinding = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect'
const maxCertificates = 8
const minModulusLength = 2048

/**
 * Reads the metadata of one identity provider (SAML metadata §2.4.3). Its own signature is not verified: the administrator
 * who uploads it, or the https address that it comes from, is its proof. A certificate that has ended still counts, because
 * the metadata says what is trusted. Throws `RefusedError`. Runs in a thread: see ask-saml-thread.ts.
 */
export function readMetadata(xml: string, now: number): IdentityProviderMetadata {
  if (Buffer.byteLength(xml) > maxBytes)
    refuse(
      'too_large',
      `The metadata is longer than ${maxBytes / 1024} KiB. Give that of one identity provider.`,
    )
  const entity = entityOf(readXml(xml.replace(/^\uFEFF/, ''), { comments: true }).elements)
  const [role] = childrenNamed(entity, namespace.metadata, 'IDPSSODescriptor')
  if (!role) refuse('not_metadata', 'The metadata describes no identity provider (IDPSSODescriptor).')
  for (const element of [entity, role]) checkValidity(element, now)
  const entityId = entity.getAttribute('entityID')
  if (entityId === '' || entityId.length > 1_024)
    refuse('entity_id', 'The metadata must have an entityID of 1 to 1024 characters.')
  return { entityId, signInUrl: signInUrlOf(role), certificates: certificatesOf(role) }
}

function entityOf(elements: readonly XmlElement[]): XmlElement {
  const [entity, second] = elements.filter((element) => is(element, namespace.metadata, 'EntityDescriptor'))
  if (!entity) refuse('not_metadata', 'This is not the metadata of SAML: it has no EntityDescriptor.')
  if (second)
    refuse('not_metadata', 'The metadata describes several providers. Give that of one identity provider.')
  return entity
}

function checkValidity(element: XmlElement, now: number): void {
  const until = instantOf(element, 'validUntil')
  if (until !== null && until <= now)
    refuse(
      'metadata_expired',
      `The metadata was valid until ${new Date(until).toISOString()}. Download it again.`,
    )
}

function signInUrlOf(role: XmlElement): string {
  const service = childrenNamed(role, namespace.metadata, 'SingleSignOnService').find(
    (one) => one.getAttribute('Binding') === redirectBinding,
  )
  if (!service)
    refuse('sign_in_url', 'The metadata has no SingleSignOnService with the binding HTTP-Redirect.')
  const url = service.getAttribute('Location')
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '') || url.length > 2_000)
    refuse('sign_in_url', `The SingleSignOnService is at ${quoted(url)}, which is no URL.`)
  return url
}

function certificatesOf(role: XmlElement): SigningCertificate[] {
  const signing = childrenNamed(role, namespace.metadata, 'KeyDescriptor').filter(
    (key) => key.getAttribute('use') !== 'encryption',
  )
  const texts = signing
    .flatMap((key) => childrenNamed(key, namespace.signature, 'KeyInfo'))
    .flatMap((info) => childrenNamed(info, namespace.signature, 'X509Data'))
    .flatMap((data) => childrenNamed(data, namespace.signature, 'X509Certificate'))
    .map(({ textContent }) => textContent.replaceAll(/\s/g, ''))
  const unique = [...new Set(texts)]
  if (unique.length === 0 || unique.length > maxCertificates)
    refuse(
      'certificate',
      `The metadata must have 1 to ${maxCertificates} certificates for signing, and has ${unique.length}.`,
    )
  return unique.map(signingCertificate)
}

function signingCertificate(base64: string): SigningCertificate {
  const certificate = parseCertificate(base64)
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = certificate.publicKey
  if (type !== 'rsa' || (details?.modulusLength ?? 0) < minModulusLength)
    refuse(
      'certificate',
      `The certificate ${certificate.fingerprint256} has the key ${type} of ${details?.modulusLength ?? '?'} bits. Use RSA of at least ${minModulusLength} bits.`,
    )
  return {
    pem: certificate.toString(),
    fingerprint: certificate.fingerprint256,
    endsAt: certificate.validToDate,
  }
}

function parseCertificate(base64: string): X509Certificate {
  try {
    return new X509Certificate(Buffer.from(base64, 'base64'))
  } catch {
    return refuse('certificate', 'A certificate of the metadata cannot be read.')
  }
}
