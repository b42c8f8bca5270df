import { other } from '../certificates.ts'
import { enveloped, honest, response, responseXml, signed } from '../identity-provider.ts'
import { both, changed, type Forgery, forged, original, responseSigned, said, signatureOf } from './forge.ts'

export const signatures: Forgery[] = [
  forged('assertion_unsigned', 'nothing is signed', responseXml(honest)),
  forged('assertion_unsigned', 'only the response is signed', responseSigned),
  forged('assertion_unsigned', 'the signature was taken away', original.replace(signatureOf(original), '')),
  forged('signature_invalid', 'signed by another key', response({}, other)),
  said(
    'signature_invalid',
    'signed by another key, with the certificate of the identity provider',
    {},
    { key: other.key },
  ),
  changed('signature_invalid', 'the name was changed', 'ada-7f3', 'eve'),
  changed('signature_invalid', 'an attribute was changed', 'ada@example.com', 'eve@example.com'),
  changed(
    'signature_invalid',
    'an attribute was added',
    '</saml:AttributeStatement>',
    '<saml:Attribute Name="groups"><saml:AttributeValue>admins</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>',
  ),
  changed('signature_invalid', 'the digest was changed', /<ds:DigestValue>.{6}/, '<ds:DigestValue>AAAAAA'),
  changed(
    'signature_invalid',
    'the value of the signature is empty',
    /<ds:SignatureValue>[^<]*/,
    '<ds:SignatureValue>',
  ),
  changed(
    'signature_invalid',
    'the signature of the response was changed',
    /(<\/samlp:Status>)/,
    '<samlp:StatusDetail/>$1',
    both,
  ),
  forged(
    'signature_invalid',
    'the response is signed by another key',
    signed(response(), { of: 'Response', ...other }),
  ),
  forged(
    'signature_several',
    'two signatures, of which one is good',
    original.replace('<ds:Signature', `${signatureOf(response({}, other))}<ds:Signature`),
  ),
  forged('signature_several', 'two signatures of the response', signed(both, { of: 'Response' })),
  changed(
    'signature_misplaced',
    'a signature in the subject',
    '<saml:Subject>',
    `<saml:Subject>${signatureOf(original)}`,
    responseXml(honest),
  ),
  changed(
    'signature_misplaced',
    'a signature in the key of another',
    '<ds:X509Data>',
    `${signatureOf(original)}<ds:X509Data>`,
  ),
  changed('signature_form', 'the signature has an object', '</ds:Signature>', '<ds:Object/></ds:Signature>'),
  changed(
    'signature_form',
    'the signature has two parts that are signed',
    '</ds:SignedInfo>',
    '</ds:SignedInfo><ds:SignedInfo/>',
  ),
  changed(
    'signature_form',
    'the signature has two references',
    '</ds:Reference>',
    '</ds:Reference><ds:Reference URI="#_eve"/>',
  ),
  changed(
    'signature_form',
    'two values of the digest',
    '</ds:DigestValue>',
    '</ds:DigestValue><ds:DigestValue>AAAA</ds:DigestValue>',
  ),
  changed(
    'signature_form',
    'the signature has no value',
    /<ds:SignatureValue>[^<]*<\/ds:SignatureValue>/,
    '',
  ),
  changed(
    'signature_form',
    'a part of the signature is of another namespace',
    '<ds:DigestMethod ',
    '<samlp:DigestMethod ',
  ),
  changed(
    'signature_form',
    'a shorter code of the signature',
    /(<ds:SignatureMethod [^>]*)\/>/,
    '$1><ds:HMACOutputLength>8</ds:HMACOutputLength></ds:SignatureMethod>',
  ),
]

const more = 'http://www.w3.org/2001/04/xmldsig-more#'
const dsig = 'http://www.w3.org/2000/09/xmldsig#'
const method = /(?<=SignatureMethod Algorithm=")[^"]*/
export const algorithms: Forgery[] = [
  said('signature_algorithm', 'signed with SHA-1', {}, { signature: `${dsig}rsa-sha1` }),
  said('signature_algorithm', 'a digest of SHA-1', {}, { digest: `${dsig}sha1` }),
  changed('signature_algorithm', 'HMAC with the certificate as its secret', method, `${dsig}hmac-sha1`),
  changed('signature_algorithm', 'HMAC of SHA-256', method, `${more}hmac-sha256`),
  changed('signature_algorithm', 'DSA', method, `${dsig}dsa-sha1`),
  changed('signature_algorithm', 'MD5', method, `${more}rsa-md5`),
  changed('signature_algorithm', 'no algorithm', method, ''),
  changed('signature_algorithm', 'an algorithm that every object has', method, 'constructor'),
  changed('signature_algorithm', 'a digest of MD5', /(?<=DigestMethod Algorithm=")[^"]*/, `${more}md5`),
  said(
    'signature_algorithm',
    'inclusive canonicalization',
    {},
    { canonicalization: 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315' },
  ),
  changed(
    'signature_algorithm',
    'canonicalization with comments',
    /(?<=CanonicalizationMethod Algorithm=")[^"]*/,
    'http://www.w3.org/2001/10/xml-exc-c14n#WithComments',
  ),
  said('signature_algorithm', 'only one transform', {}, { transforms: [enveloped] }),
  said(
    'signature_algorithm',
    'the transforms in another order',
    {},
    { transforms: ['http://www.w3.org/2001/10/xml-exc-c14n#', enveloped] },
  ),
  changed(
    'signature_algorithm',
    'a transform by XSLT',
    enveloped,
    'http://www.w3.org/TR/1999/REC-xslt-19991116',
  ),
  changed(
    'signature_algorithm',
    'a transform by XPath',
    enveloped,
    'http://www.w3.org/TR/1999/REC-xpath-19991116',
  ),
  changed(
    'signature_algorithm',
    'a third transform',
    '<ds:Transform ',
    '<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116"/><ds:Transform ',
  ),
  changed(
    'signature_algorithm',
    'a transform with content',
    /(<ds:Transform [^>]*enveloped-signature")\/>/,
    '$1><ds:XPath>true()</ds:XPath></ds:Transform>',
  ),
]
