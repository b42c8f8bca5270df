import { acsUrl, bearer, entityId, honest, success } from '../identity-provider.ts'
import { type Forgery, forged, inResponse, ofAda, said } from './forge.ts'

const until = (xml: string, end: string) => xml.replace(/(?<=NotOnOrAfter=")[^"]*/, end)
export const statements: Forgery[] = [
  said('status', 'the status is Responder', { status: success.replace('Success', 'Responder') }),
  said('status', 'the status is a failure inside of a success', {
    status: `${success}${success.replace('Success', 'AuthnFailed')}`,
  }),
  said('status', 'no status', { status: '' }),
  said('version', 'SAML 1.1', { version: '1.1' }),
  said('issuer', 'an assertion of another issuer', {
    issuer: '<saml:Issuer>https://evil.example</saml:Issuer>',
  }),
  said('issuer', 'a response of another issuer', {
    responseIssuer: '<saml:Issuer>https://evil.example</saml:Issuer>',
  }),
  said('issuer', 'two issuers', { issuer: honest.issuer + honest.issuer }),
  said('audience', 'another audience', {
    conditions: honest.conditions.replace(entityId, 'https://other.example'),
  }),
  said('audience', 'the audience of another connection', {
    conditions: honest.conditions.replace('0190', '0191'),
  }),
  said('audience', 'an audience that begins as ours', {
    conditions: honest.conditions.replace(entityId, `${entityId}.evil.example`),
  }),
  said('audience', 'an empty audience', { conditions: honest.conditions.replace(entityId, '') }),
  said('audience', 'no audience', {
    conditions: honest.conditions.replace(/<saml:AudienceRestriction>.*<\/saml:AudienceRestriction>/, ''),
  }),
  said('audience', 'two restrictions, of which one is for others', {
    conditions: honest.conditions.replace(
      '</saml:Conditions>',
      '<saml:AudienceRestriction><saml:Audience>x</saml:Audience></saml:AudienceRestriction></saml:Conditions>',
    ),
  }),
  said('conditions', 'no conditions', { conditions: '' }),
  said('conditions', 'conditions twice', { conditions: honest.conditions + honest.conditions }),
  said('conditions', 'a condition that is not known', {
    conditions: honest.conditions.replace('</saml:Conditions>', '<saml:Condition/></saml:Conditions>'),
  }),
  said('destination', 'the destination of another service', {
    destination: ' Destination="https://other.example/acs"',
  }),
  said('destination', 'no destination', { destination: '' }),
  said('recipient', 'another recipient', {
    confirmation: honest.confirmation.replace(acsUrl, 'https://other.example/acs'),
  }),
  said('recipient', 'the recipient of another connection', {
    confirmation: honest.confirmation.replace('0190', '0191'),
  }),
  said('recipient', 'no recipient', {
    confirmation: honest.confirmation.replace(` Recipient="${acsUrl}"`, ''),
  }),
  said('in_response_to', 'an answer to another request', {
    confirmation: honest.confirmation.replace('_request-1', '_request-2'),
  }),
  said('in_response_to', 'a response to another request', {
    responseInResponseTo: ' InResponseTo="_request-2"',
  }),
  said('in_response_to', 'an answer to no request, in a response to ours', {
    confirmation: honest.confirmation.replace(' InResponseTo="_request-1"', ''),
  }),
  said('in_response_to', 'a sign-in that began at the identity provider', {
    responseInResponseTo: '',
    confirmation: honest.confirmation.replace(' InResponseTo="_request-1"', ''),
  }),
  said('confirmation', 'confirmed by a key', {
    confirmation: honest.confirmation.replace(bearer, bearer.replace('bearer', 'holder-of-key')),
  }),
  said('confirmation', 'confirmed by a sender', {
    confirmation: honest.confirmation.replace(bearer, bearer.replace('bearer', 'sender-vouches')),
  }),
  said('confirmation', 'no confirmation', { confirmation: '' }),
  said('confirmation', 'two confirmations', {
    confirmation: honest.confirmation.replace(acsUrl, 'https://x') + honest.confirmation,
  }),
  said('confirmation', 'a confirmation without an end', {
    confirmation: honest.confirmation.replace(/ NotOnOrAfter="[^"]*"/, ''),
  }),
  said('confirmation', 'a confirmation without data', {
    confirmation: `<saml:SubjectConfirmation Method="${bearer}"/>`,
  }),
  said('expired', 'the confirmation ended', {
    confirmation: until(honest.confirmation, '2027-01-01T11:59:00Z'),
  }),
  said('expired', 'the assertion ended', {
    conditions: until(honest.conditions, '2027-01-01T11:59:00.000Z'),
  }),
  said('expired', 'the session ended', {
    authentication: honest.authentication.replace(
      'SessionIndex',
      'SessionNotOnOrAfter="2027-01-01T12:00:00Z" SessionIndex',
    ),
  }),
  said('not_yet_valid', 'the assertion begins in two minutes', {
    conditions: honest.conditions.replace(/(?<=NotBefore=")[^"]*/, '2027-01-01T12:02:00Z'),
  }),
  said('not_yet_valid', 'the confirmation begins in two minutes', {
    confirmation: honest.confirmation.replace(
      'NotOnOrAfter',
      'NotBefore="2027-01-01T12:02:00Z" NotOnOrAfter',
    ),
  }),
  said('time_malformed', 'a time without a zone', {
    confirmation: until(honest.confirmation, '2027-01-01T13:00:00'),
  }),
  said('time_malformed', 'a year alone as time', { confirmation: until(honest.confirmation, '2030') }),
  said('time_malformed', 'an empty time', { confirmation: until(honest.confirmation, '') }),
  said('authentication_missing', 'no authentication', { authentication: '' }),
  said('authentication_missing', 'no time of the authentication', {
    authentication: honest.authentication.replace(/ AuthnInstant="[^"]*"/, ''),
  }),
  said('name_id', 'an empty NameID', { nameId: honest.nameId.replace('ada-7f3', '') }),
  said('name_id', 'a NameID of spaces', { nameId: honest.nameId.replace('ada-7f3', '  ') }),
  said('name_id', 'two NameIDs', { nameId: honest.nameId + honest.nameId }),
  said('name_id', 'an element in the NameID', {
    nameId: honest.nameId.replace('ada-7f3', 'ada<saml:NameID>eve</saml:NameID>'),
  }),
  said('subject', 'no NameID', { nameId: '' }),
  said('subject', 'an address as NameID', {
    nameId: honest.nameId.replace('2.0:nameid-format:persistent', '1.1:nameid-format:emailAddress'),
  }),
  said('subject', 'a NameID for one session', { nameId: honest.nameId.replace('persistent', 'transient') }),
  said('subject', 'a NameID of 300 characters', {
    nameId: honest.nameId.replace('ada-7f3', 'x'.repeat(300)),
  }),
  said('assertion_encrypted', 'an encrypted NameID', { nameId: '<saml:EncryptedID/>' }),
  said('assertion_encrypted', 'an encrypted attribute', {
    attributes: '<saml:AttributeStatement><saml:EncryptedAttribute/></saml:AttributeStatement>',
  }),
  forged(
    'assertion_encrypted',
    'an encrypted assertion',
    inResponse(
      '<saml:EncryptedAssertion><xenc:EncryptedData xmlns:xenc="http://www.w3.org/2001/04/xmlenc#"/></saml:EncryptedAssertion>',
    ),
  ),
  forged(
    'assertion_encrypted',
    'an encrypted assertion beside a signed one',
    inResponse(`<saml:EncryptedAssertion/>${ofAda}`),
  ),
]
