import { randomBytes } from 'node:crypto'
import { normaliseEmail } from '../../messages/mail/email-address.ts'
import { type Answer, type Asked, type Begun, UpstreamError } from '../upstream.ts'
import * as thread from './ask-saml-thread.ts'
import type { VerifiedAssertion } from './assertion.ts'
import type { ServiceProvider } from './service-provider.ts'

/** An identity provider that a connection names, and what we are to it. */
export interface SamlClient extends ServiceProvider {
  idpEntityId: string
  signInUrl: string
  /** PEM. */
  certificates: readonly string[]
  /** The attribute that names the person, or `NameID`. */
  subjectAttribute: string
}

const attributeOf = ({ subjectAttribute }: SamlClient) =>
  subjectAttribute === 'NameID' ? null : subjectAttribute

/** Where the browser goes, and what {@link finishSaml} needs of it. */
export async function beginSaml(client: SamlClient, { state, isFresh = false }: Asked): Promise<Begun> {
  const { entityId, acsUrl, signInUrl } = client
  // An ID of XML does not begin with a digit.
  const requestId = `_${randomBytes(20).toString('hex')}`
  const url = await thread.signInUrl({
    ...{ entityId, acsUrl, signInUrl, requestId, relayState: state, forceAuthn: isFresh },
    subjectAttribute: attributeOf(client),
  })
  return { url, kept: { requestId } }
}

/** Checks the answer of an identity provider, and says whom it names. Throws {@link UpstreamError}. */
export async function finishSaml(
  client: SamlClient,
  { kept, parameters, at }: Pick<Answer, 'kept' | 'parameters' | 'at'>,
) {
  const { entityId, acsUrl, idpEntityId, certificates, subjectAttribute } = client
  const answer = await thread.verifyResponse(parameters.get('SAMLResponse') ?? '', {
    ...{ entityId, acsUrl, idpEntityId, certificates, now: at },
    requestId: kept.requestId!,
    subjectAttribute: attributeOf(client),
  })
  if ('refused' in answer) {
    const { code, detail } = answer.refused
    throw new UpstreamError(code === 'status' ? 'denied' : 'refused', detail)
  }
  const { subject, authnInstant, attributes } = answer.done
  if (normaliseEmail(subject) !== null)
    throw new UpstreamError(
      'refused',
      `${subjectAttribute} holds an address, which can go to another person. Name another attribute.`,
    )
  return {
    issuer: idpEntityId,
    attribute: subjectAttribute,
    subject,
    email: emailOf(answer.done),
    firstName: firstOf(attributes, givenNames) ?? '',
    lastName: firstOf(attributes, familyNames) ?? '',
    amr: sawSecondFactor(answer.done) ? ['mfa'] : [],
    authTime: authnInstant.getTime(),
    claims: attributes,
  }
}

const claims = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims'
const emails = ['email', 'mail', `${claims}/emailaddress`, 'urn:oid:0.9.2342.19200300.100.1.3']
const givenNames = ['given_name', 'givenName', 'firstName', `${claims}/givenname`, 'urn:oid:2.5.4.42']
const familyNames = ['family_name', 'sn', 'surname', 'lastName', `${claims}/surname`, 'urn:oid:2.5.4.4']
const asEmail = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress'

const firstOf = (attributes: VerifiedAssertion['attributes'], names: readonly string[]): string | undefined =>
  names.flatMap((name) => (Object.hasOwn(attributes, name) ? attributes[name]! : [])).at(0)

function emailOf({ attributes, nameId, nameIdFormat }: VerifiedAssertion): string | null {
  const email = firstOf(attributes, emails) ?? (nameIdFormat === asEmail ? nameId : null)
  return email ? normaliseEmail(email) : null
}

const methods = 'http://schemas.microsoft.com/claims/authnmethodsreferences'
const multipleAuthn = 'http://schemas.microsoft.com/claims/multipleauthn'
const refeds = 'https://refeds.org/profile/mfa'

/** As Entra ID and AD FS say it, and as REFEDS defines it. */
const sawSecondFactor = ({ attributes, authnContext }: VerifiedAssertion): boolean =>
  authnContext === refeds ||
  authnContext === multipleAuthn ||
  (Object.hasOwn(attributes, methods) && attributes[methods]!.includes(multipleAuthn))
