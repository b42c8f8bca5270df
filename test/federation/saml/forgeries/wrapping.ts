import { honest, response, responseXml, signed } from '../identity-provider.ts'
import {
  adaUnsigned,
  changed,
  eve,
  type Forgery,
  forged,
  inResponse,
  into,
  ofAda,
  original,
  responseSigned,
  signatureOf,
} from './forge.ts'

/** Somorovsky et al., "On Breaking SAML" (2012): the eight places of a second assertion, and others. */
export const wrapping: Forgery[] = [
  forged(
    'assertion_several',
    'wrapping 1: the signed response inside the signature of another',
    responseSigned
      .replace(adaUnsigned, eve)
      .replace('_response-1', '_response-2')
      .replace('</ds:Signature>', `<ds:Object>${responseSigned}</ds:Object></ds:Signature>`),
  ),
  forged(
    'assertion_several',
    'wrapping 2: the signed response beside its signature',
    responseSigned
      .replace(adaUnsigned, eve)
      .replace('_response-1', '_response-2')
      .replace('<ds:Signature', `${responseSigned.replace(signatureOf(responseSigned), '')}<ds:Signature`),
  ),
  forged('assertion_several', 'wrapping 3: another assertion before the signed one', inResponse(eve + ofAda)),
  forged(
    'assertion_several',
    'wrapping 4: the signed assertion inside another',
    inResponse(eve.replace('</saml:Assertion>', `${ofAda}</saml:Assertion>`)),
  ),
  forged(
    'assertion_several',
    'wrapping 5: the signature in another assertion, the signed one at the end',
    inResponse(into(eve, signatureOf(original)) + adaUnsigned),
  ),
  forged(
    'assertion_several',
    'wrapping 6: the signed assertion inside the signature of another',
    inResponse(into(eve, signatureOf(original).replace('</ds:Signature>', `${adaUnsigned}</ds:Signature>`))),
  ),
  forged(
    'assertion_several',
    'wrapping 7: another assertion in an extension',
    responseXml({ ...honest, beside: `<samlp:Extensions>${eve}</samlp:Extensions>` }, ofAda),
  ),
  forged(
    'assertion_several',
    'wrapping 8: the signed assertion in an object of the signature of another',
    inResponse(
      into(
        eve,
        signatureOf(original).replace(
          '</ds:Signature>',
          `<ds:Object>${adaUnsigned}</ds:Object></ds:Signature>`,
        ),
      ),
    ),
  ),
  forged('assertion_several', 'another assertion behind the signed one', inResponse(ofAda + eve)),
  forged(
    'assertion_several',
    'another assertion in the advice of the signed one',
    response({ conditions: `${honest.conditions}<saml:Advice>${eve}</saml:Advice>` }),
  ),
  forged(
    'assertion_several',
    'the same signed assertion twice',
    inResponse(ofAda + ofAda.replaceAll('_assertion-1', '_assertion-2')),
  ),
  forged(
    'assertion_misplaced',
    'the assertion is in an extension',
    inResponse('').replace('</samlp:Status>', `</samlp:Status><samlp:Extensions>${ofAda}</samlp:Extensions>`),
  ),
  forged(
    'assertion_misplaced',
    'the assertion is in a second response',
    inResponse(`<samlp:Response Version="2.0" ID="_inner">${ofAda}</samlp:Response>`),
  ),
  forged(
    'assertion_misplaced',
    'the assertion is of another namespace',
    inResponse(
      signed(
        `<x:Assertion xmlns:x="urn:x" ID="_x"><saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">i</saml:Issuer></x:Assertion>`,
      ),
    ),
  ),
  forged(
    'unexpected_element',
    'an extension beside the signed assertion',
    responseXml({ ...honest, beside: '<samlp:Extensions/>' }, ofAda),
  ),
  forged('assertion_missing', 'there is no assertion', inResponse('')),
  forged('not_a_response', 'an assertion alone', ofAda),
  forged('not_a_response', 'a response in another namespace', `<Response xmlns="urn:x">${ofAda}</Response>`),
  forged(
    'not_a_response',
    'an answer to a logout',
    original.replaceAll('samlp:Response', 'samlp:LogoutResponse'),
  ),
]

export const ids: Forgery[] = [
  changed('duplicate_id', 'the response has the id of the assertion', '_response-1', '_assertion-1'),
  changed(
    'duplicate_id',
    'an id in another spelling of the attribute',
    '<samlp:Status>',
    '<samlp:Status Id="_assertion-1">',
  ),
  changed('duplicate_id', 'an id in a namespace', '<samlp:Status>', '<samlp:Status xml:id="_assertion-1">'),
  forged(
    'signature_reference',
    'the signature of the assertion refers to the response',
    inResponse(into(adaUnsigned, signatureOf(responseSigned))),
  ),
  changed(
    'signature_reference',
    'the signature refers to the whole document',
    'URI="#_assertion-1"',
    'URI=""',
  ),
  changed(
    'signature_reference',
    'the signature refers to an expression',
    'URI="#_assertion-1"',
    `URI="#xpointer(id('_assertion-1'))"`,
  ),
  changed(
    'signature_reference',
    'the signature refers to a file',
    'URI="#_assertion-1"',
    'URI="file:///etc/passwd"',
  ),
  forged(
    'signature_reference',
    'the assertion has no id',
    original.replace('ID="_assertion-1"', '').replace('URI="#_assertion-1"', 'URI="#"'),
  ),
]
