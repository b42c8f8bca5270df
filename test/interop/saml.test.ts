import t, { type Test } from 'tap'
import { idp } from '../federation/saml/certificates.ts'
import { metadataXml } from '../federation/saml/identity-provider.ts'
import { type Json, startService } from '../helpers/service.ts'
import { startKeycloak } from './keycloak.ts'
import { startSimpleSaml } from './simplesamlphp.ts'

// Identity providers that others wrote sign a person in, through the routes. npm run test:interop

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

const service = await startService(t, { env: { FEDERATION_ALLOW_PRIVATE: 'true' } })
service.advance(Date.now() - service.now())
const owner = await service.signUp()
const at = '/api/v1/connections/'

const done = ({ status, body }: { status: number; body: Json }): Json => {
  if (status >= 300) throw new Error(JSON.stringify(body))
  return body
}
/** A draft whose identity provider is named later: that has to know our metadata first. */
const draft = async (): Promise<Json> => {
  const saml = { metadata: metadataXml(idp.certificate) }
  return done(await owner.post(at, { name: 'One', kind: 'saml', saml }))
}
/** Our metadata, as an administrator downloads it. */
const ownMetadata = async ({ id }: Json) => (await fetch(`${service.url}/saml/${id}/metadata`)).text()

const post = async ({ id }: Json, body: URLSearchParams) => {
  const answer = await fetch(`${service.url}/saml/${id}/acs`, { method: 'POST', body, redirect: 'manual' })
  return { status: answer.status, text: await answer.text() }
}

/** Signs ada in to try the connection, tries her answer a second time, and activates the connection. */
async function signsIn(t: Test, { id }: Json, change: object, says: readonly string[]) {
  const path = `${at}${id}/`
  const connection = done(await owner.patch(path, change))
  const begin = async () => done(await owner.post(`${path}test/`)).url
  service.advance(Math.max(0, Date.now() - service.now())) // the clock of the identity provider
  const url = await begin()
  const parameters = await answerOf(url, { username: 'ada', password: 'correct' })
  t.equal(parameters.get('RelayState'), new URL(url).searchParams.get('RelayState'))
  const { status, text } = await post(connection, parameters)
  t.equal(status, 200)
  for (const part of says) t.match(text, part)
  t.notMatch(text, 'role="alert"', text)
  const again = new URLSearchParams(parameters)
  again.set('RelayState', new URL(await begin()).searchParams.get('RelayState')!)
  t.match(await post(connection, again), { text: /answers another sign-in/ })
  t.match(await owner.patch(path, { status: 'active' }), { status: 200, body: { status: 'active' } })
  return { parameters, connection }
}

t.test('SimpleSAMLphp reads our metadata, and signs a person in', async (t) => {
  const made = await draft()
  const url = await startSimpleSaml(t, await ownMetadata(made)).catch((error: Error) => error)
  if (url instanceof Error) return t.plan(0, url.message)
  const saml = { metadata_url: `${url}/saml2/idp/metadata.php` }
  const says = ['ada-7f3', 'Ada@example.com', 'Lovelace']
  await signsIn(t, made, { saml }, says)
  const { parameters, connection } = await signsIn(t, made, { subject_attribute: 'employeeId' }, says)

  const xml = Buffer.from(parameters.get('SAMLResponse')!, 'base64').toString()
  const forged = new URLSearchParams({
    SAMLResponse: Buffer.from(xml.replaceAll('ada-7f3', 'eve-7f3')).toString('base64'),
    RelayState: parameters.get('RelayState')!,
  })
  t.match(await post(connection, forged), { text: /was changed on its way/ })
})

const attributeMapper = (name: string, property: string) => ({
  ...{ name, protocol: 'saml', protocolMapper: 'saml-user-property-mapper' },
  config: { 'user.attribute': property, 'attribute.name': name, 'attribute.nameformat': 'Basic' },
})

/** What the console of Keycloak makes of a client of SAML with a persistent NameID. */
const keycloakClient = {
  ...{ protocol: 'saml', enabled: true, fullScopeAllowed: true },
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
  const made = await draft()
  const { entity_id: clientId, acs_url: acsUrl } = made.saml.service_provider
  const client = { ...keycloakClient, clientId, redirectUris: [acsUrl] }
  const realm = await startKeycloak(t, [client]).catch((error: Error) => error)
  if (realm instanceof Error) return t.plan(0, realm.message)
  const saml = { metadata_url: `${realm}/protocol/saml/descriptor` }
  const { connection } = await signsIn(t, made, { saml }, ['G-', 'ada@example.com', 'Lovelace'])
  t.equal(connection.saml.entity_id, realm)
})
