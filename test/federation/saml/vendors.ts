import { entityId, honest, type Parts, responseXml, type Signing, signed } from './identity-provider.ts'

/** A response in the form of a product, as its settings are at first, and what it says. */
export interface Vendor {
  name: string
  xml: string
  subjectAttribute: string | null
  says: object
}

const format = 'urn:oasis:names:tc:SAML'
const attribute = (name: string, values: string[], more = '', ofValue = '') =>
  `<saml:Attribute Name="${name}"${more}>${values.map((value) => `<saml:AttributeValue${ofValue}>${value}</saml:AttributeValue>`).join('')}</saml:Attribute>`
const attributes = (...all: string[]) => `<saml:AttributeStatement>${all.join('')}</saml:AttributeStatement>`
const xsi =
  ' xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="xs:string"'

function made(parts: Partial<Parts>, ...signatures: Partial<Signing>[]): string {
  const all = { ...honest, ...parts }
  const { signature } = all.prefixes
  return signatures.reduce((xml, how) => signed(xml, { prefix: signature, ...how }), responseXml(all))
}

const microsoft = 'http://schemas.microsoft.com'
const prefixless = { protocol: 'samlp', assertion: '', signature: '' }
const oid = 'http://schemas.microsoft.com/identity/claims/objectidentifier'

export const vendors: Vendor[] = [
  {
    name: 'Keycloak, with signed assertions',
    subjectAttribute: null,
    xml: made(
      {
        prefixes: { protocol: 'samlp', assertion: 'saml', signature: 'dsig' },
        authentication: honest.authentication.replace(
          'SessionIndex',
          'SessionNotOnOrAfter="2027-01-01T22:00:00.000Z" SessionIndex',
        ),
        attributes: attributes(
          attribute('Role', ['offline_access'], ` NameFormat="${format}:2.0:attrname-format:basic"`, xsi),
          attribute(
            'Role',
            ['admin'],
            ` FriendlyName="r" NameFormat="${format}:2.0:attrname-format:basic"`,
            xsi,
          ),
        ),
      },
      { of: 'Assertion' },
      { of: 'Response' },
    ),
    says: { subject: 'ada-7f3', attributes: { Role: ['offline_access', 'admin'] }, sessionIndex: 's-1' },
  },
  {
    name: 'Entra ID',
    subjectAttribute: oid,
    xml: made(
      {
        prefixes: prefixless,
        nameId: `<saml:NameID Format="${format}:1.1:nameid-format:emailAddress">ada@example.com</saml:NameID>`,
        attributes: attributes(
          attribute(oid, ['5f0c9f7b-ada']),
          attribute('http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name', ['ada@example.com']),
          attribute(`${microsoft}/claims/authnmethodsreferences`, [
            'http://schemas.microsoft.com/ws/2008/06/identity/authenticationmethod/password',
            `${microsoft}/claims/multipleauthn`,
          ]),
        ),
      },
      {},
    ),
    says: {
      subject: '5f0c9f7b-ada',
      nameId: 'ada@example.com',
      attributes: { [`${microsoft}/claims/authnmethodsreferences`]: [/password$/, /multipleauthn$/] },
    },
  },
  {
    name: 'Okta, which signs both and names inclusive namespaces',
    subjectAttribute: 'id',
    xml: made(
      {
        prefixes: { protocol: 'saml2p', assertion: 'saml2', signature: 'ds' },
        responseIssuer: honest.responseIssuer.replace('>', ` Format="${format}:2.0:nameid-format:entity">`),
        issuer: honest.issuer.replace('>', ` Format="${format}:2.0:nameid-format:entity">`),
        nameId: `<saml:NameID Format="${format}:1.1:nameid-format:unspecified">ada@example.com</saml:NameID>`,
        attributes: attributes(
          attribute('id', ['00u1ada'], ` NameFormat="${format}:2.0:attrname-format:unspecified"`, xsi),
          attribute('groups', ['Everyone', 'Développement &amp; essais'], '', xsi),
        ),
      },
      { inclusive: ['xs'] },
      { of: 'Response', inclusive: ['xs'] },
    ),
    says: { subject: '00u1ada', attributes: { groups: ['Everyone', 'Développement & essais'] } },
  },
  {
    name: 'Google Workspace',
    subjectAttribute: 'employeeId',
    xml: `<?xml version="1.0" encoding="UTF-8" standalone="no"?>${made(
      {
        prefixes: { protocol: 'saml2p', assertion: 'saml2', signature: 'ds' },
        nameId: `<saml:NameID Format="${format}:1.1:nameid-format:emailAddress">ada@example.com</saml:NameID>`,
        attributes: attributes(attribute('employeeId', ['e-17'], '', xsi.replace('xs:string', 'xs:anyType'))),
      },
      {},
    )}`,
    says: { subject: 'e-17', nameIdFormat: `${format}:1.1:nameid-format:emailAddress` },
  },
  {
    name: 'SimpleSAMLphp',
    subjectAttribute: null,
    xml: `<?xml version="1.0"?>\n${made(
      {
        nameId: `<saml:NameID SPNameQualifier="${entityId}" Format="${format}:2.0:nameid-format:persistent">_f7a3-ada</saml:NameID>`,
        attributes: attributes(
          attribute('uid', ['ada'], ` NameFormat="${format}:2.0:attrname-format:basic"`, xsi),
          attribute('empty', [''], '', xsi),
        ),
      },
      { of: 'Assertion' },
      { of: 'Response' },
    )}\n`,
    says: { subject: '_f7a3-ada', attributes: { uid: ['ada'], empty: [] } },
  },
  {
    name: 'AD FS',
    subjectAttribute: 'http://schemas.microsoft.com/ws/2008/06/identity/claims/primarysid',
    xml: made(
      {
        prefixes: prefixless,
        responseAttributes: ` Consent="${format}:2.0:consent:unspecified"`,
        nameId: '',
        conditions: honest.conditions.replace(/(NotBefore="[^"]*)\.000Z/, '$1Z'),
        attributes: attributes(
          attribute('http://schemas.microsoft.com/ws/2008/06/identity/claims/primarysid', ['S-1-5-21']),
        ),
      },
      {
        signature: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
        digest: 'http://www.w3.org/2001/04/xmlenc#sha512',
      },
    ),
    says: { subject: 'S-1-5-21', nameId: null, nameIdFormat: null, attributes: {} },
  },
]
