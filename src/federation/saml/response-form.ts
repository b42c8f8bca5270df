import { quoted, refuse } from './refusal.ts'
import { checkSignatureForm } from './signature-form.ts'
import { childrenNamed, childrenOf, is, nameOf, namespace, type XmlDocument, type XmlElement } from './xml.ts'

/** What a response must say about itself. */
export interface ExpectedEnvelope {
  acsUrl: string
  idpEntityId: string
  requestId: string
}

export interface ResponseForm {
  assertionId: string
  /** The response has a signature of its own, too. */
  isSigned: boolean
}

const success = 'urn:oasis:names:tc:SAML:2.0:status:Success'
const expectedNamespaces: readonly (string | null)[] = [
  namespace.assertion,
  namespace.protocol,
  namespace.signature,
  namespace.exclusive,
]

/**
 * Checks the whole document before any signature: a response with one assertion, which is its child and signed itself. All of
 * this is unsigned, so it can only refuse. Throws `RefusedError`.
 */
export function checkResponseForm({ root, elements }: XmlDocument, expected: ExpectedEnvelope): ResponseForm {
  if (!is(root, namespace.protocol, 'Response'))
    refuse('not_a_response', `A SAML response was expected, and ${quoted(nameOf(root))} came.`)
  checkVersion(root)
  checkStatus(root)
  if (elements.some(({ localName }) => /^Encrypted(Assertion|ID|Attribute)$/.test(localName)))
    refuse(
      'assertion_encrypted',
      'The assertion, or a part of it, is encrypted. Turn its encryption off at the identity provider: it travels by TLS.',
    )
  checkIds(elements)
  const assertion = oneAssertion(root, elements)
  checkChildren(root, elements)
  const signatures = signaturesOf(root, assertion, elements)
  for (const signature of signatures) checkSignatureForm(signature)
  checkEnvelope(root, expected)
  return { assertionId: assertion.getAttribute('ID'), isSigned: signatures.length > 1 }
}

export function checkVersion(element: XmlElement): void {
  if (element.getAttribute('Version') !== '2.0')
    refuse('version', `SAML 2.0 was expected, and ${quoted(element.getAttribute('Version'))} came.`)
}

function checkStatus(root: XmlElement): void {
  const codes = childrenNamed(root, namespace.protocol, 'Status').flatMap((status) =>
    childrenNamed(status, namespace.protocol, 'StatusCode'),
  )
  if (codes.length === 1 && codes[0]!.getAttribute('Value') === success) return
  const says = (name: string) =>
    childrenNamed(root, namespace.protocol, 'Status').flatMap((status) =>
      childrenNamed(status, namespace.protocol, name),
    )
  const values = codes
    .flatMap((code) => [code, ...childrenOf(code)])
    .map((code) => code.getAttribute('Value'))
  const message = says('StatusMessage')[0]?.textContent
  refuse(
    'status',
    `The identity provider signed no one in: it answered ${values.map((value) => value.replace(/^.*:/, '')).join(', ') || 'without a status'}${message ? `, ${quoted(message)}` : ''}.`,
  )
}

/** Whatever spelling of the attribute a library looks for, each id is there once. */
function checkIds(elements: readonly XmlElement[]): void {
  const seen = new Set<string>()
  for (const element of elements)
    for (const { localName, value } of Array.from(element.attributes)) {
      if (localName.toLowerCase() !== 'id') continue
      if (seen.has(value)) refuse('duplicate_id', `Two elements have the id ${quoted(value)}.`)
      seen.add(value)
    }
}

function oneAssertion(root: XmlElement, elements: readonly XmlElement[]): XmlElement {
  const [assertion, second] = elements.filter(({ localName }) => localName === 'Assertion')
  if (!assertion) refuse('assertion_missing', 'The response contains no assertion.')
  if (second) refuse('assertion_several', 'The response contains more than one assertion.')
  if (assertion.parentNode !== root || assertion.namespaceURI !== namespace.assertion)
    refuse('assertion_misplaced', 'The assertion is not directly inside the response.')
  return assertion
}

/** The elements of a response are known, once each, and nothing hides in others. */
function checkChildren(root: XmlElement, elements: readonly XmlElement[]): void {
  const foreign = elements.find(({ namespaceURI }) => !expectedNamespaces.includes(namespaceURI))
  if (foreign)
    refuse('xml_foreign_element', `The response contains ${quoted(nameOf(foreign))}, which is not of SAML.`)
  const allowed = [
    [namespace.assertion, 'Issuer'],
    [namespace.signature, 'Signature'],
    [namespace.protocol, 'Status'],
    [namespace.assertion, 'Assertion'],
  ] as const
  const rest = childrenOf(root).find((child) => !allowed.some(([uri, name]) => is(child, uri, name)))
  if (rest) refuse('unexpected_element', `The response contains ${quoted(nameOf(rest))}.`)
}

function signaturesOf(
  root: XmlElement,
  assertion: XmlElement,
  elements: readonly XmlElement[],
): XmlElement[] {
  const all = elements.filter((element) => element.localName === 'Signature')
  const of = (parent: XmlElement) => all.filter((signature) => signature.parentNode === parent)
  const [ofAssertion, ofResponse] = [of(assertion), of(root)]
  if (ofAssertion.length > 1 || ofResponse.length > 1)
    refuse('signature_several', 'An element has more than one signature.')
  if (ofAssertion.length + ofResponse.length !== all.length)
    refuse('signature_misplaced', 'A signature is neither directly in the assertion nor in the response.')
  if (ofAssertion.length === 0)
    refuse(
      'assertion_unsigned',
      'The assertion is not signed. Turn on signed assertions at the identity provider; a signature of the response alone is not enough.',
    )
  return [...ofAssertion, ...ofResponse]
}

function checkEnvelope(root: XmlElement, { acsUrl, idpEntityId, requestId }: ExpectedEnvelope): void {
  const destination = root.getAttribute('Destination')
  if (destination !== acsUrl)
    refuse(
      'destination',
      `The response is for ${quoted(destination)}, and this connection is ${quoted(acsUrl)}.`,
    )
  for (const issuer of childrenNamed(root, namespace.assertion, 'Issuer')) checkIssuer(issuer, idpEntityId)
  const inResponseTo = root.getAttribute('InResponseTo')
  if (inResponseTo !== '' && inResponseTo !== requestId)
    refuse('in_response_to', 'The response answers another sign-in than the one that this browser began.')
}

/** The entity id of the identity provider, as its metadata gives it. */
export function checkIssuer(issuer: XmlElement, idpEntityId: string): void {
  if (issuer.textContent !== idpEntityId)
    refuse(
      'issuer',
      `The response is from ${quoted(issuer.textContent)}, and the metadata of this connection names ${quoted(idpEntityId)}.`,
    )
}
