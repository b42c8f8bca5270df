import { quoted, refuse } from './refusal.ts'
import { checkIssuer, checkVersion } from './response-form.ts'
import { checkWindow, instantOf } from './times.ts'
import { childrenNamed, childrenOf, is, nameOf, namespace, type XmlElement } from './xml.ts'

/** What an assertion must say. */
export interface ExpectedAssertion {
  /** Of the connection, as its metadata gives it. */
  entityId: string
  acsUrl: string
  idpEntityId: string
  /** The ID of the AuthnRequest that the assertion must answer. */
  requestId: string
  /** Unix time in ms. */
  now: number
  /** The attribute that names the person; null: the NameID, which must then be persistent. */
  subjectAttribute: string | null
}

/** What a signed assertion says. */
export interface VerifiedAssertion {
  /** Names the person for ever, among those of this identity provider. Compare it by character. */
  subject: string
  nameId: string | null
  nameIdFormat: string | null
  /** Texts by the attribute's `Name`; empty ones are left out. */
  attributes: Record<string, string[]>
  sessionIndex: string | null
  authnInstant: Date
  /** The URI of how the person was authenticated, if it says so. */
  authnContext: string | null
  assertionId: string
  /** When it is not accepted any more. */
  notOnOrAfter: Date
}

const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'
const persistent = 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent'
const maxSubjectLength = 256
const knownConditions = ['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction']

/** Reads an assertion whose bytes were signed (SAML profiles §4.1.4.3). Throws `RefusedError`. */
export function readAssertion(assertion: XmlElement, expected: ExpectedAssertion): VerifiedAssertion {
  checkVersion(assertion)
  checkIssuer(one(assertion, 'Issuer', 'issuer'), expected.idpEntityId)
  const subject = one(assertion, 'Subject', 'name_id')
  const ends = [checkConditions(assertion, expected), checkConfirmation(subject, expected)]
  const authentication = readAuthentication(assertion, expected.now)
  const attributes = attributesOf(assertion)
  const nameId = nameIdOf(subject)
  return {
    subject: subjectOf(nameId, attributes, expected.subjectAttribute),
    nameId: nameId?.value ?? null,
    nameIdFormat: nameId?.format ?? null,
    attributes,
    ...authentication,
    assertionId: assertion.getAttribute('ID'),
    notOnOrAfter: new Date(Math.min(...ends)),
  }
}

/** The only element of a name. */
function one(parent: XmlElement, name: string, code: Parameters<typeof refuse>[0]): XmlElement {
  const [found, second] = childrenNamed(parent, namespace.assertion, name)
  if (!found || second)
    refuse(code, `${nameOf(parent)} must contain one ${name}, and contains ${second ? 'several' : 'none'}.`)
  return found
}

/** Gives the end of its validity. */
function checkConditions(assertion: XmlElement, { entityId, now }: ExpectedAssertion): number {
  const conditions = one(assertion, 'Conditions', 'conditions')
  const unknown = childrenOf(conditions).find(
    (child) => !knownConditions.some((name) => is(child, namespace.assertion, name)),
  )
  if (unknown) refuse('conditions', `The assertion has the unknown condition ${quoted(nameOf(unknown))}.`)
  const end = checkWindow(conditions, 'The assertion', now)
  const restrictions = childrenNamed(conditions, namespace.assertion, 'AudienceRestriction')
  if (restrictions.length === 0) refuse('audience', 'The assertion names no audience.')
  for (const restriction of restrictions) {
    const audiences = childrenNamed(restriction, namespace.assertion, 'Audience').map(textOf)
    if (!audiences.includes(entityId))
      refuse(
        'audience',
        `The assertion names the audience ${audiences.map(quoted).join(', ') || 'nothing'}, and this connection is ${quoted(entityId)}.`,
      )
  }
  return end
}

/** Gives the end of its validity. */
function checkConfirmation(subject: XmlElement, { acsUrl, requestId, now }: ExpectedAssertion): number {
  const confirmation = one(subject, 'SubjectConfirmation', 'confirmation')
  const method = confirmation.getAttribute('Method')
  if (method !== bearer)
    refuse(
      'confirmation',
      `The subject is confirmed by ${quoted(method)}, and only ${quoted(bearer)} is accepted.`,
    )
  const data = one(confirmation, 'SubjectConfirmationData', 'confirmation')
  const recipient = data.getAttribute('Recipient')
  if (recipient !== acsUrl)
    refuse(
      'recipient',
      `The assertion is for ${quoted(recipient)}, and this connection is ${quoted(acsUrl)}.`,
    )
  const inResponseTo = data.getAttribute('InResponseTo')
  if (inResponseTo === '')
    refuse(
      'in_response_to',
      'The assertion answers no request: the sign-in began at the identity provider. It has to begin here.',
    )
  if (inResponseTo !== requestId)
    refuse('in_response_to', 'The assertion answers another sign-in than the one that this browser began.')
  if (!data.hasAttribute('NotOnOrAfter'))
    refuse('confirmation', 'The confirmation of the subject has no end (NotOnOrAfter).')
  return checkWindow(data, 'The confirmation of the subject', now)
}

function readAuthentication(assertion: XmlElement, now: number) {
  const statement = one(assertion, 'AuthnStatement', 'authentication_missing')
  const authnInstant = instantOf(statement, 'AuthnInstant')
  if (authnInstant === null)
    refuse('authentication_missing', 'The assertion does not say when the person was authenticated.')
  const sessionEnd = instantOf(statement, 'SessionNotOnOrAfter')
  if (sessionEnd !== null && sessionEnd <= now)
    refuse('expired', 'The session at the identity provider has ended.')
  const [context] = childrenNamed(statement, namespace.assertion, 'AuthnContext').flatMap((context) =>
    childrenNamed(context, namespace.assertion, 'AuthnContextClassRef'),
  )
  return {
    sessionIndex: statement.getAttribute('SessionIndex') || null,
    authnInstant: new Date(authnInstant),
    authnContext: context ? textOf(context) || null : null,
  }
}

function attributesOf(assertion: XmlElement): Record<string, string[]> {
  const found = new Map<string, string[]>()
  for (const statement of childrenNamed(assertion, namespace.assertion, 'AttributeStatement'))
    for (const attribute of childrenNamed(statement, namespace.assertion, 'Attribute')) {
      const name = attribute.getAttribute('Name')
      const values = childrenNamed(attribute, namespace.assertion, 'AttributeValue').map(textOf)
      found.set(name, [...(found.get(name) ?? []), ...values.filter((value) => value !== '')])
    }
  return Object.fromEntries(found)
}

function nameIdOf(subject: XmlElement): { value: string; format: string | null } | null {
  const found = childrenNamed(subject, namespace.assertion, 'NameID')
  if (found.length === 0) return null
  const nameId = one(subject, 'NameID', 'name_id')
  const value = textOf(nameId)
  if (value.trim() === '' || childrenOf(nameId).length > 0)
    refuse('name_id', 'The NameID of the assertion is empty, or is no text.')
  return { value, format: nameId.getAttribute('Format') || null }
}

/** Who the person is: a name that is never given to another one. */
function subjectOf(
  nameId: ReturnType<typeof nameIdOf>,
  attributes: Record<string, string[]>,
  attribute: string | null,
): string {
  if (attribute === null) {
    if (!nameId) refuse('subject', 'The assertion contains no NameID.')
    if (nameId.format !== persistent)
      refuse(
        'subject',
        `The NameID has the format ${quoted(nameId.format)}. Choose ${quoted(persistent)} at the identity provider, or name an attribute that never changes as subject_attribute.`,
      )
  }
  const values =
    attribute === null ? [nameId!.value] : Object.hasOwn(attributes, attribute) ? attributes[attribute]! : []
  const [value, second] = values
  if (value === undefined || value.trim() === '' || second !== undefined || value.length > maxSubjectLength)
    refuse(
      'subject',
      `${attribute === null ? 'The NameID' : `The attribute ${quoted(attribute)}`} must be one text of 1 to ${maxSubjectLength} characters; the assertion has ${values.length === 1 ? 'another' : values.length || 'none'}.`,
    )
  return value
}

const textOf = (element: XmlElement): string => element.textContent
