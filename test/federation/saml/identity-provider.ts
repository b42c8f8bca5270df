import { inflateRawSync } from 'node:zlib'
import { SignedXml } from 'xml-crypto'
import { idp } from './certificates.ts'

// An identity provider for tests. It says what it is told to, true or not, and signs it with xml-crypto.

export const acsUrl = 'https://id.example/saml/0190/acs'
export const entityId = 'https://id.example/saml/0190/metadata'
export const idpEntityId = 'https://idp.example/metadata'
export const requestId = '_request-1'
export const now = Date.parse('2027-01-01T12:00:00Z')

const at = (seconds: number) => new Date(now + seconds * 1000).toISOString()

/** The parts of a response. A test changes one of them. */
export interface Parts {
  /** Prefixes of the three namespaces; '' for the default namespace. */
  prefixes: { protocol: string; assertion: string; signature: string }
  responseId: string
  responseAttributes: string
  destination: string
  responseInResponseTo: string
  responseIssuer: string
  status: string
  assertionId: string
  issuer: string
  nameId: string
  confirmation: string
  conditions: string
  authentication: string
  attributes: string
  version: string
  /** What stands before the assertion in the response. */
  beside: string
}

const persistent = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'
export const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'
export const success = '<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/>'

/** The parts that are written with the prefixes `saml` and `samlp`, which `responseXml` replaces. */
export const honest: Parts = {
  prefixes: { protocol: 'samlp', assertion: 'saml', signature: 'ds' },
  responseId: '_response-1',
  responseAttributes: '',
  destination: ` Destination="${acsUrl}"`,
  responseInResponseTo: ` InResponseTo="${requestId}"`,
  responseIssuer: `<saml:Issuer>${idpEntityId}</saml:Issuer>`,
  status: success,
  assertionId: '_assertion-1',
  issuer: `<saml:Issuer>${idpEntityId}</saml:Issuer>`,
  nameId: `<saml:NameID Format="${persistent}">ada-7f3</saml:NameID>`,
  confirmation: `<saml:SubjectConfirmation Method="${bearer}"><saml:SubjectConfirmationData NotOnOrAfter="${at(300)}" Recipient="${acsUrl}" InResponseTo="${requestId}"/></saml:SubjectConfirmation>`,
  conditions: `<saml:Conditions NotBefore="${at(-5)}" NotOnOrAfter="${at(300)}"><saml:AudienceRestriction><saml:Audience>${entityId}</saml:Audience></saml:AudienceRestriction></saml:Conditions>`,
  authentication: `<saml:AuthnStatement AuthnInstant="${at(-20)}" SessionIndex="s-1"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`,
  attributes: `<saml:AttributeStatement><saml:Attribute Name="email"><saml:AttributeValue>ada@example.com</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>`,
  version: '2.0',
  beside: '',
}

const named = (xml: string, { protocol, assertion }: Parts['prefixes']) =>
  xml
    .replaceAll(/(<\/?)samlp:/g, protocol ? `$1${protocol}:` : '$1')
    .replaceAll(/(<\/?)saml:/g, assertion ? `$1${assertion}:` : '$1')

/** An assertion, without a signature. */
export function assertionXml(parts: Parts): string {
  const { prefixes, assertionId, issuer, nameId, confirmation, conditions, authentication, version } = parts
  const xmlns = `xmlns${prefixes.assertion && `:${prefixes.assertion}`}="urn:oasis:names:tc:SAML:2.0:assertion"`
  const text = `<saml:Assertion ${xmlns} ID="${assertionId}" IssueInstant="${at(0)}" Version="${version}">${issuer}<saml:Subject>${nameId}${confirmation}</saml:Subject>${conditions}${authentication}${parts.attributes}</saml:Assertion>`
  return named(text, prefixes)
}

/** A response around an assertion. */
export function responseXml(parts: Parts, assertion = assertionXml(parts)): string {
  const { protocol, assertion: prefix } = parts.prefixes
  const ofIssuer = prefix ? ` xmlns:${prefix}="urn:oasis:names:tc:SAML:2.0:assertion"` : ''
  const issuer = prefix
    ? parts.responseIssuer
    : parts.responseIssuer.replace(
        '<saml:Issuer',
        '<saml:Issuer xmlns="urn:oasis:names:tc:SAML:2.0:assertion"',
      )
  const text = `<samlp:Response xmlns:${protocol}="urn:oasis:names:tc:SAML:2.0:protocol"${ofIssuer} ID="${parts.responseId}" IssueInstant="${at(0)}" Version="${parts.version}"${parts.destination}${parts.responseInResponseTo}${parts.responseAttributes}>${issuer}<samlp:Status>${parts.status}</samlp:Status>${parts.beside}`
  return named(`${text}%s</samlp:Response>`, parts.prefixes).replace('%s', () => assertion)
}

export interface Signing {
  of: 'Assertion' | 'Response'
  key: string
  certificate: string
  signature: string
  digest: string
  transforms: string[]
  canonicalization: string
  prefix: string
  inclusive: string[]
}

const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#'
export const enveloped = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature'

/** The library writes the list of inclusive namespaces into each transform; identity providers write it where it belongs. */
class Signer extends SignedXml {
  protected override calculateSignatureValue(doc: unknown): void {
    const misplaced = this.signatureNode.getElementsByTagNameNS(enveloped, 'InclusiveNamespaces').item(0)
    misplaced?.parentNode.removeChild(misplaced)
    super.calculateSignatureValue(doc)
  }
}

/** Signs an element of a document: its signature stands behind its issuer, or first in it. */
export function signed(xml: string, more: Partial<Signing> = {}): string {
  const how: Signing = {
    of: 'Assertion',
    key: idp.key,
    certificate: idp.certificate,
    signature: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    digest: 'http://www.w3.org/2001/04/xmlenc#sha256',
    transforms: [enveloped, exclusive],
    canonicalization: exclusive,
    prefix: 'ds',
    inclusive: [],
    ...more,
  }
  const signer = new Signer({
    privateKey: how.key,
    publicCert: how.certificate,
    signatureAlgorithm: how.signature,
    canonicalizationAlgorithm: how.canonicalization,
  })
  const element = `//*[local-name(.)='${how.of}']`
  signer.addReference({
    xpath: element,
    transforms: how.transforms,
    digestAlgorithm: how.digest,
    inclusiveNamespacesPrefixList: how.inclusive,
  })
  const issuer = `${element}/*[local-name(.)='Issuer']`
  signer.computeSignature(xml, {
    ...(how.prefix && { prefix: how.prefix }),
    location: { reference: issuer, action: 'after' },
  })
  return signer.getSignedXml()
}

/** A response whose assertion is signed, with some of its parts changed before. */
export const response = (more: Partial<Parts> = {}, how: Partial<Signing> = {}): string =>
  signed(responseXml({ ...honest, ...more }), how)

/** As the field of the form that a browser posts. */
export const posted = (xml: string): string => Buffer.from(xml).toString('base64')

export const bare = (pem: string) => pem.replaceAll(/-----[A-Z ]+-----/g, '')
export const keyOf = (pem: string, use = ' use="signing"') =>
  `<md:KeyDescriptor${use}><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${bare(pem)}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`
export const service = (binding: string, location: string) =>
  `<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-${binding}" Location="${location}"/>`
export const entityXml = (content: string, more = '') =>
  `<?xml version="1.0"?><!-- of a file --><md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="http://www.w3.org/2000/09/xmldsig#" entityID="${idpEntityId}"${more}><md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">${content}</md:IDPSSODescriptor></md:EntityDescriptor>`

/** The metadata of this identity provider. */
export const metadataXml = (...certificates: string[]): string =>
  entityXml(
    certificates.map((pem) => keyOf(pem)).join('') + service('Redirect', 'https://idp.example/sso?a=1'),
  )

/** What the browser posts after a person signed in at the URL of a request, `at` that time (Unix time in ms). */
export function answerTo(
  url: string,
  at: number,
  { parts = {}, how = {} }: { parts?: Partial<Parts>; how?: Partial<Signing> } = {},
): URLSearchParams {
  const { searchParams: asked } = new URL(url)
  const request = inflateRawSync(Buffer.from(asked.get('SAMLRequest')!, 'base64')).toString()
  const found = (form: RegExp) => form.exec(request)![1]!
  const xml = responseXml({ ...honest, ...parts })
    .replaceAll(acsUrl, found(/AssertionConsumerServiceURL="([^"]+)"/))
    .replaceAll(entityId, found(/Issuer[^>]*>([^<]+)</))
    .replaceAll(requestId, found(/ ID="([^"]+)"/))
    .replaceAll(/\d{4}-[\d-]+T[\d:.]+Z/g, (time) => new Date(Date.parse(time) - now + at).toISOString())
  return new URLSearchParams({
    SAMLResponse: posted(signed(xml, how)),
    RelayState: asked.get('RelayState') ?? '',
  })
}
