import { randomBytes } from 'node:crypto'
import type { Deps } from '../../deps.ts'
import { normaliseEmail } from '../../messages/mail/email-address.ts'
import { namesIn } from '../openid-upstream.ts'
import { type Upstream, UpstreamError } from '../upstream.ts'
import * as thread from './ask-saml-thread.ts'
import type { VerifiedAssertion } from './assertion.ts'
import type { ServiceProvider } from './service-provider.ts'
import { maxSkewMs } from './times.ts'

/** An identity provider that a connection names, and what we are to it. */
export interface SamlClient extends ServiceProvider {
  idpEntityId: string
  signInUrl: string
  /** PEM. */
  certificates: readonly string[]
  /** The attribute that names the person, or `NameID`. */
  subjectAttribute: string
}

/** The attribute that names the person; null: the NameID does. */
export const subjectAttributeOf = (name: string): string | null => (name === 'NameID' ? null : name)

/** An upstream that speaks SAML, of a tenant. */
export const samlUpstream = (
  { clock }: Pick<Deps, 'clock'>,
  about: Pick<Upstream, 'id' | 'kind' | 'name'> & { tenantId: string },
  client: SamlClient,
): Upstream => ({
  ...about,
  async begin({ state, isFresh = false }) {
    const { entityId, acsUrl, signInUrl } = client
    // An ID of XML does not begin with a digit.
    const requestId = `_${randomBytes(20).toString('hex')}`
    const url = await thread.signInUrl(about.tenantId, {
      ...{ entityId, acsUrl, signInUrl, requestId, relayState: state, forceAuthn: isFresh },
      subjectAttribute: subjectAttributeOf(client.subjectAttribute),
    })
    return { url, kept: { requestId, ...(isFresh && { freshSince: String(clock()) }) } }
  },
  async finish({ kept: { requestId, freshSince }, parameters, at }) {
    const { subjectAttribute, signInUrl: _signInUrl, ...expected } = client
    const answer = await thread.verifyResponse(about.tenantId, parameters.get('SAMLResponse') ?? '', {
      ...expected,
      now: at,
      requestId: requestId!,
      subjectAttribute: subjectAttributeOf(subjectAttribute),
    })
    if ('refused' in answer) {
      const { code, detail } = answer.refused
      throw new UpstreamError(code === 'status' ? 'denied' : 'refused', detail)
    }
    const asserted = assertedBy(client, answer.done)
    if (freshSince === undefined) return asserted
    if (asserted.authTime < Number(freshSince) - maxSkewMs)
      throw new UpstreamError(
        'refused',
        'The identity provider did not ask for a new sign-in: its AuthnInstant is older.',
      )
    return { ...asserted, authTime: Math.max(asserted.authTime, Number(freshSince)) }
  },
})

function assertedBy({ idpEntityId, subjectAttribute }: SamlClient, said: VerifiedAssertion) {
  const { subject, authnInstant, attributes } = said
  if (normaliseEmail(subject) !== null)
    throw new UpstreamError(
      'refused',
      `${subjectAttribute} holds an address, which can go to another person. Name another attribute.`,
    )
  return {
    issuer: idpEntityId,
    attribute: subjectAttribute,
    subject,
    email: emailOf(said),
    isAuthority: false,
    ...namesIn({
      given_name: firstOf(attributes, givenNames),
      family_name: firstOf(attributes, familyNames),
    }),
    amr: sawSecondFactor(said) ? ['mfa'] : [],
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
