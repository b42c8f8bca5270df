import t, { type Test } from 'tap'
import { readMetadata } from '../../src/federation/saml/metadata.ts'
import { type SamlClient, samlUpstream } from '../../src/federation/saml/saml.ts'
import { serviceProviderMetadata } from '../../src/federation/saml/service-provider-metadata.ts'
import { acsUrl, entityId } from '../federation/saml/identity-provider.ts'
import { startKeycloak } from './keycloak.ts'
import { startSimpleSaml } from './simplesamlphp.ts'

// Identity providers that others wrote sign a person in. npm run test:interop

/** Goes through the pages of an identity provider as a browser without scripts, and gives the form that it posts to us. */
async function answerOf(start: string, fields: Record<string, string>): Promise<URLSearchParams> {
  const cookies = new Map<string, string>()
  let [url, init]: [string, RequestInit] = [start, {}]
  for (let step = 0; step < 15; step++) {
    const Cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const page = await fetch(url, { ...init, redirect: 'manual', headers: { Cookie } })
    for (const [, name = '', value = ''] of page.headers
      .getSetCookie()
      .map((line) => /^([^=]+)=([^;]*)/.exec(line)!))
      cookies.set(name, value)
    const to = page.headers.get('location')
    const text = await page.text()
    if (to) {
      ;[url, init] = [new URL(to, url).href, {}]
      continue
    }
    const form = formIn(text)
    if (!form) throw new Error(`${url} answered ${page.status}: ${text}`)
    if (form.fields.has('SAMLResponse')) return form.fields
    for (const [name, value] of Object.entries(fields)) form.fields.set(name, value)
    ;[url, init] = [new URL(form.action || url, url).href, { method: 'POST', body: form.fields }]
  }
  throw new Error(`${start} does not end`)
}

const unescaped = (text: string) => text.replaceAll('&quot;', '"').replaceAll('&amp;', '&')

function formIn(page: string) {
  const [, attributes, content] = /<form([^>]*method="post"[^>]*)>(.*?)<\/form>/is.exec(page) ?? []
  if (attributes === undefined || content === undefined) return undefined
  const inputs = content.match(/<input[^>]*>/gi) ?? []
  const attributeIn = (tag: string, name: string) =>
    unescaped(new RegExp(`${name}="([^"]*)"`).exec(tag)?.[1] ?? '')
  const fields = inputs.map((tag): [string, string] => [attributeIn(tag, 'name'), attributeIn(tag, 'value')])
  return {
    action: attributeIn(attributes, 'action'),
    fields: new URLSearchParams(fields.filter(([name]) => name !== '')),
  }
}

async function clientOf(metadataUrl: string, subjectAttribute: string): Promise<SamlClient> {
  const xml = await (await fetch(metadataUrl)).text()
  const { entityId: idpEntityId, signInUrl, certificates } = readMetadata(xml, Date.now())
  const pems = certificates.map(({ pem }) => pem)
  return { entityId, acsUrl, idpEntityId, signInUrl, certificates: pems, subjectAttribute }
}

const upstreamOf = (client: SamlClient) =>
  samlUpstream({ clock: Date.now }, { id: 'one', kind: 'saml', name: 'One', tenantId: 'a' }, client)
const finish = (client: SamlClient, kept: Record<string, string>, parameters: URLSearchParams) =>
  upstreamOf(client).finish({ ...asked, kept, parameters, at: Date.now() })
const asked = { state: 'state-of-a-flow', redirectUri: acsUrl }

/** Signs ada in, and tries her answer a second time, for another request. */
async function signsIn(t: Test, client: SamlClient, fields: Record<string, string>, says: object) {
  const { url, kept } = await upstreamOf(client).begin(asked)
  const parameters = await answerOf(url, fields)
  t.equal(parameters.get('RelayState'), asked.state)
  t.match(await finish(client, kept, parameters), {
    issuer: client.idpEntityId,
    ...says,
  })
  const later = await upstreamOf(client).begin(asked)
  await t.rejects(finish(client, later.kept, parameters), { code: 'refused' })
  return parameters
}

t.test('SimpleSAMLphp reads our metadata, and signs a person in', async (t) => {
  const metadata = serviceProviderMetadata({ entityId, acsUrl }, null)
  const url = await startSimpleSaml(t, metadata).catch((error: Error) => error)
  if (url instanceof Error) return t.plan(0, url.message)
  const fields = { username: 'ada', password: 'correct' }
  const about = { subject: 'ada-7f3', email: 'ada@example.com', firstName: 'Ada', lastName: 'Lovelace' }
  const place = `${url}/saml2/idp/metadata.php`
  const parameters = await signsIn(t, await clientOf(place, 'NameID'), fields, {
    ...about,
    attribute: 'NameID',
  })
  await signsIn(t, await clientOf(place, 'uid'), fields, { ...about, attribute: 'uid' })

  const forged = new URLSearchParams(parameters)
  const xml = Buffer.from(parameters.get('SAMLResponse')!, 'base64').toString()
  forged.set('SAMLResponse', Buffer.from(xml.replaceAll('ada-7f3', 'eve-7f3')).toString('base64'))
  const requestId = /InResponseTo="([^"]+)"/.exec(xml)![1]!
  await t.rejects(finish(await clientOf(place, 'uid'), { requestId }, forged), {
    code: 'refused',
    message: /was changed on its way/,
  })
})

const attributeMapper = (name: string, property: string) => ({
  ...{ name, protocol: 'saml', protocolMapper: 'saml-user-property-mapper' },
  config: { 'user.attribute': property, 'attribute.name': name, 'attribute.nameformat': 'Basic' },
})

/** What the console of Keycloak makes of a client of SAML with a persistent NameID. */
const keycloakClient = {
  ...{ clientId: entityId, protocol: 'saml', enabled: true, redirectUris: [acsUrl], fullScopeAllowed: true },
  attributes: {
    'saml.authnstatement': 'true',
    'saml.server.signature': 'true',
    'saml.assertion.signature': 'true',
    'saml.client.signature': 'false',
    'saml.signature.algorithm': 'RSA_SHA256',
    saml_signature_canonicalization_method: 'http://www.w3.org/2001/10/xml-exc-c14n#',
    saml_name_id_format: 'persistent',
    'saml.force.post.binding': 'true',
  },
  protocolMappers: [
    attributeMapper('email', 'email'),
    attributeMapper('firstName', 'firstName'),
    attributeMapper('lastName', 'lastName'),
  ],
}

t.test('Keycloak signs a person in', async (t) => {
  const realm = await startKeycloak(t, [keycloakClient]).catch((error: Error) => error)
  if (realm instanceof Error) return t.plan(0, realm.message)
  const client = await clientOf(`${realm}/protocol/saml/descriptor`, 'NameID')
  t.equal(client.idpEntityId, realm)
  const says = { subject: /^G-/, email: 'ada@example.com', firstName: 'Ada', lastName: 'Lovelace' }
  await signsIn(t, client, { username: 'ada', password: 'correct' }, says)
})
