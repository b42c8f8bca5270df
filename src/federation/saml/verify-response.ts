import { createHash, X509Certificate } from 'node:crypto'
import { SAML } from '@node-saml/node-saml'
import { type ExpectedAssertion, readAssertion, type VerifiedAssertion } from './assertion.ts'
import { maxBytes, refuse } from './refusal.ts'
import { checkResponseForm } from './response-form.ts'
import { is, namespace, readXml, type XmlDocument } from './xml.ts'

export interface ExpectedResponse extends ExpectedAssertion {
  /** PEM: the certificates of the identity provider's metadata. One of them must have signed the assertion. */
  certificates: readonly string[]
}

/**
 * Verifies a response of an identity provider: `samlResponse` is the field of the form that the browser posts. Everything
 * that it gives was read from the bytes of the assertion that the signature covers. An assertion is good for one request, so
 * use the id of a request once. Throws `RefusedError`. Runs in a thread: see ask-saml-thread.ts.
 */
export async function verifyResponse(
  samlResponse: string,
  expected: ExpectedResponse,
): Promise<VerifiedAssertion> {
  const text = decode(samlResponse)
  const document = readXml(text)
  const form = checkResponseForm(document, expected)
  const signed = await signedAssertion(text, document, expected, form.isSigned)
  const { root } = readXml(signed)
  if (!is(root, namespace.assertion, 'Assertion') || root.getAttribute('ID') !== form.assertionId)
    refuse('signature_invalid', 'The signature covers another element than the assertion.')
  return readAssertion(root, expected)
}

/** The library as far as the signature: what it would read and check then, `readAssertion` does, with the clock that it is given. */
class SignedBytes extends SAML {
  protected override async processValidlySignedAssertionAsync(xml: string) {
    return { profile: { getAssertionXml: () => xml } }
  }
}

/** Base64 in lines, of UTF-8. */
function decode(samlResponse: string): string {
  const base64 = samlResponse.replaceAll(/\s/g, '')
  if (base64.length > Math.ceil(maxBytes / 3) * 4)
    refuse('too_large', `The response is longer than ${maxBytes / 1024} KiB.`)
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) refuse('not_base64', 'The response is not base64.')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64'))
  } catch {
    return refuse('not_utf8', 'The response is not UTF-8.')
  }
}

/** The bytes that a certificate of the connection signed, as canonical XML. */
async function signedAssertion(
  text: string,
  document: XmlDocument,
  { certificates, acsUrl, entityId }: ExpectedResponse,
  responseIsSigned: boolean,
): Promise<string> {
  const library = new SignedBytes({
    idpCert: likely(document, certificates),
    callbackUrl: acsUrl,
    issuer: entityId,
    wantAssertionsSigned: true,
    wantAuthnResponseSigned: responseIsSigned,
  })
  try {
    const answer = await library.validatePostResponseAsync({
      SAMLResponse: Buffer.from(text).toString('base64'),
    })
    return answer.profile!.getAssertionXml()
  } catch {
    return refuse('signature_invalid', `The signature is not valid. ${whyInvalid(document, certificates)}`)
  }
}

/** The certificate that the response names, if it is one of ours: each one that is tried costs as much as the first. */
function likely(document: XmlDocument, certificates: readonly string[]): string[] {
  const came = fingerprintsIn(document)
  const named = certificates.filter((pem) => came.includes(new X509Certificate(pem).fingerprint256))
  return named.length > 0 ? named : [...certificates]
}

const fingerprintsIn = ({ elements }: XmlDocument): string[] =>
  elements
    .filter((element) => is(element, namespace.signature, 'X509Certificate'))
    .map(({ textContent }) => createHash('sha256').update(Buffer.from(textContent, 'base64')).digest('hex'))
    .map((hex) => hex.toUpperCase().replaceAll(/..(?=.)/g, '$&:'))

/** A new certificate is the usual reason. That which came only explains: it is never trusted. */
function whyInvalid(document: XmlDocument, certificates: readonly string[]): string {
  const known = certificates.map((pem) => new X509Certificate(pem).fingerprint256)
  const unknown = fingerprintsIn(document).find((fingerprint) => !known.includes(fingerprint))
  return unknown
    ? `The response came with a certificate that the metadata of this connection does not contain (SHA-256 ${unknown}). Read the metadata again.`
    : 'The response was changed on its way, or was signed with another key than that of the metadata.'
}
