import type { RefusalCode } from '../../../../src/federation/saml/refusal.ts'
import {
  assertionXml,
  honest,
  type Parts,
  posted,
  response,
  responseXml,
  type Signing,
  signed,
} from '../identity-provider.ts'

/** What is posted, and the code of the refusal. */
export interface Forgery {
  what: string
  code: RefusalCode
  field: string
}

export const forged = (code: RefusalCode, what: string, xml: string): Forgery => ({
  what,
  code,
  field: posted(xml),
})

/** Signed by the identity provider itself, with other parts: what it may not say, or not to us. */
export const said = (
  code: RefusalCode,
  what: string,
  parts: Partial<Parts>,
  how?: Partial<Signing>,
): Forgery => forged(code, what, response(parts, how))

/** A response that was changed after it was signed. */
export function changed(
  code: RefusalCode,
  what: string,
  find: string | RegExp,
  put: string,
  xml = response(),
): Forgery {
  const after = xml.replace(find, put)
  if (after === xml) throw new Error(`${what}: ${find} is not in the response`)
  return forged(code, what, after)
}

/** Eve's assertion, unsigned, to be smuggled in beside a signed one. */
export const eve = assertionXml({
  ...honest,
  assertionId: '_eve',
  nameId: honest.nameId.replace('ada-7f3', 'eve'),
})
export const original = response()
const assertionOf = (xml: string) => /<saml:Assertion .*<\/saml:Assertion>/s.exec(xml)![0]
export const signatureOf = (xml: string) => /<ds:Signature .*<\/ds:Signature>/s.exec(xml)![0]
export const ofAda = assertionOf(original)
export const adaUnsigned = ofAda.replace(signatureOf(original), '')
export const inResponse = (content: string) => responseXml(honest, content)
export const into = (assertion: string, content: string) =>
  assertion.replace('</saml:Issuer>', `</saml:Issuer>${content}`)
export const responseSigned = signed(responseXml(honest), { of: 'Response' })
export const both = signed(response(), { of: 'Response' })
