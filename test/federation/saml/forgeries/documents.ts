import { honest, response } from '../identity-provider.ts'
import { changed, type Forgery, forged, original, said } from './forge.ts'

const deep = (levels: number) =>
  '<saml:AttributeValue>'.repeat(levels) + '</saml:AttributeValue>'.repeat(levels)
const doctype = (declared: string) => `<!DOCTYPE x [${declared}]>${original}`
export const documents: Forgery[] = [
  { what: 'no base64', code: 'not_base64', field: original },
  { what: 'nothing', code: 'not_base64', field: '' },
  forged('xml_malformed', 'spaces', '  '),
  {
    what: 'no UTF-8',
    code: 'not_utf8',
    field: Buffer.from(original.replace('ada-7f3', 'ad\xe4'), 'latin1').toString('base64'),
  },
  { what: 'UTF-16', code: 'xml_character', field: Buffer.from(original, 'utf16le').toString('base64') },
  forged('too_large', '300 KiB', original + ' '.repeat(300 * 1024)),
  forged(
    'xml_comment',
    'a comment in the name',
    response({ nameId: honest.nameId.replace('ada-7f3', 'ada-7f3<!---->.eve') }),
  ),
  changed('xml_comment', 'a comment that was put in the name', 'ada-7f3', 'ada<!-- -->-7f3'),
  changed('xml_comment', 'a comment in an address', 'ada@example.com', 'ada@example.com<!---->.evil.example'),
  changed('xml_comment', 'a comment in the digest', '<ds:DigestValue>', '<ds:DigestValue><!--AAAA-->'),
  forged('xml_comment', 'a comment before the response', `<!-- -->${original}`),
  changed('xml_cdata', 'a CDATA section in the name', 'ada-7f3', '<![CDATA[ada]]>-7f3'),
  changed('xml_processing_instruction', 'a processing instruction in the name', 'ada-7f3', 'ada<?x?>-7f3'),
  forged('xml_document_type', 'a document type', doctype('')),
  forged('xml_document_type', 'an entity', doctype('<!ENTITY e "eve">').replace('ada-7f3', '&e;')),
  forged(
    'xml_document_type',
    'an entity of a file',
    doctype('<!ENTITY e SYSTEM "file:///etc/passwd">').replace('ada-7f3', '&e;'),
  ),
  forged(
    'xml_document_type',
    'entities that grow',
    doctype('<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">').replace(
      'ada-7f3',
      '&c;',
    ),
  ),
  forged(
    'xml_document_type',
    'an attribute that a document type makes an id',
    doctype('<!ATTLIST samlp:Status X ID #IMPLIED>'),
  ),
  changed('xml_malformed', 'an entity that nothing defines', 'ada-7f3', '&eve;'),
  changed('xml_malformed', 'a tag that does not end', '</saml:Subject>', '</saml:Subject'),
  changed('xml_malformed', 'an attribute twice', 'Version="2.0"', 'Version="2.0" Version="2.0"'),
  changed('xml_malformed', 'an attribute without quotes', 'Version="2.0"', 'Version=2.0'),
  forged('xml_malformed', 'two roots', original + original.replaceAll('-1"', '-2"')),
  forged('xml_malformed', 'text behind the root', `${original}eve`),
  forged(
    'xml_malformed',
    'a tag of 10 KB',
    response({ responseAttributes: ` Consent="${'x'.repeat(10_000)}"` }),
  ),
  changed('xml_character', 'a NUL in the name', 'ada-7f3', 'ada&#0;'),
  changed('xml_character', 'half a character in the name', 'ada-7f3', 'ada&#xD800;'),
  changed('xml_character', 'a control character', 'ada-7f3', 'ada\u0001'),
  changed('xml_too_deep', '100 levels', '<saml:AttributeValue>', `<saml:AttributeValue>${deep(100)}`),
  changed('xml_too_deep', '9,000 levels', '<saml:AttributeValue>', `<saml:AttributeValue>${deep(2_900)}`),
  changed(
    'xml_too_many_tags',
    '10,000 tags',
    '</saml:AttributeStatement>',
    `${'<saml:A/>'.repeat(10_000)}</saml:AttributeStatement>`,
  ),
  changed(
    'xml_too_many_tags',
    '9,000 attributes',
    '<saml:Subject>',
    `${`<saml:A${' a=""'.repeat(1_000)}/>`.repeat(9)}<saml:Subject>`,
  ),
  said('xml_foreign_element', 'XInclude', {
    attributes: honest.attributes.replace(
      'ada@example.com',
      '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/passwd"/>',
    ),
  }),
  changed(
    'xml_foreign_element',
    'an element without a namespace',
    '<saml:Subject>',
    '<Subject/><saml:Subject>',
  ),
]
