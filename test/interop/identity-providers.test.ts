import t, { type Test } from 'tap'
import { answerOfPages, type Brought } from '../federation/answer-of-pages.ts'
import { idp } from '../federation/saml/certificates.ts'
import { metadataXml } from '../federation/saml/identity-provider.ts'
import { colleague } from '../helpers/colleague.ts'
import { query, rowsOf } from '../helpers/query.ts'
import { type Json, startService } from '../helpers/service.ts'
import { openPages } from '../pages/sign-in/page-client.ts'
import { startKeycloak } from './keycloak.ts'
import { startLemonLdap } from './lemonldap.ts'
import { startSimpleSaml } from './simplesamlphp.ts'

// Identity providers that others wrote: an owner tries the connection, and a member signs in by it. npm run test:interop

const service = await startService(t, { env: { FEDERATION_ALLOW_PRIVATE: 'true' } })
/** Identity providers have the clock of the machine. */
const inTime = () => service.advance(Math.max(0, Date.now() - service.now()))
inTime()
const owner = await service.signUp()
const at = '/api/v1/connections/'
const { origin } = new URL(service.url)

const done = ({ status, body }: { status: number; body: Json }): Json => {
  if (status >= 300) throw new Error(JSON.stringify(body))
  return body
}

/** A member with an address of a domain that is the tenant's. `login` is what they type at the provider. */
interface Member {
  id: string
  email: string
  login: Record<string, string>
}
async function memberAt(email: string, login: Member['login']): Promise<Member> {
  const person = await colleague(service, owner)
  await query(
    service.databases.superuser,
    `with moved as (update users set email = '${email}', email_verified_at = now() where id = '${person.id}')
     insert into domains (tenant_id, id, domain, status, record_value, route, subdomains, verified_at, asked_at, created_by,
       created_at, updated_at)
     values ('${owner.tenantId}', gen_random_uuid(), '${email.split('@')[1]}', 'verified', '', 'always', false, now(), now(),
       '${owner.id}', now(), now())`,
  )
  return { id: person.id, email, login }
}
const ada = await memberAt('ada@example.com', { username: 'ada', password: 'correct' })
const dwho = await memberAt('dwho@badwolf.org', { user: 'dwho', password: 'dwho' })

/** A draft whose identity provider is named later: that has to know our metadata or address first. */
const draft = async (kind: 'oidc' | 'saml'): Promise<Json> => {
  const oidc = { issuer: 'https://later.example', client_id: 'bailiwick', client_secret: 'later' }
  const saml = { metadata: metadataXml(idp.certificate) }
  return done(await owner.post(at, { name: 'One', kind, ...(kind === 'oidc' ? { oidc } : { saml }) }))
}
/** Our metadata, as an administrator downloads it. */
const ownMetadata = async ({ id }: Json) => (await fetch(`${service.url}/saml/${id}/metadata`)).text()

/** What the browser sees when it is back. A form of another site brings no cookies. */
async function back({ url, form }: Brought, pages = openPages(service)) {
  const path = `${url.pathname}${url.search}`
  if (!form) return pages.visit(path)
  const posted = await fetch(url, { method: 'POST', body: form, redirect: 'manual' })
  const to = posted.headers.get('location')
  return to ? pages.visit(to) : { status: posted.status, text: await posted.text() }
}

/** An owner tries a connection as the person there, and activates it; then the member signs in by it. */
async function signsIn(
  t: Test,
  { id }: Json,
  change: object,
  { person, says }: { person: Member; says: readonly string[] },
): Promise<Json> {
  const path = `${at}${id}/`
  done(await owner.patch(path, change))
  const begin = async (): Promise<URL> => new URL(done(await owner.post(`${path}test/`)).url)
  inTime()
  const brought = await answerOfPages((await begin()).href, origin, person.login)
  const { form } = brought
  const changed = (more: Record<string, string>) =>
    back({ ...brought, form: new URLSearchParams({ ...Object.fromEntries(form!), ...more }) })
  if (form) {
    const xml = Buffer.from(form.get('SAMLResponse')!, 'base64').toString()
    const forged = xml.replaceAll(person.email, 'eve@example.com')
    const SAMLResponse = Buffer.from(forged).toString('base64')
    t.match(await changed({ SAMLResponse }), { text: /was changed on its way/ })
  }
  const { status, text } = await back(brought)
  t.equal(status, 200)
  for (const part of says) t.match(text, part)
  t.notMatch(text, 'role="alert"', text)
  if (form) {
    const RelayState = (await begin()).searchParams.get('RelayState')!
    t.match(await changed({ RelayState }), { text: /answers another sign-in/ })
  }
  const connection = done(await owner.patch(path, { status: 'active' }))

  const pages = openPages(service)
  await pages.visit(`/sign-in/with/${id}/`)
  const { refresh } = await pages.send({})
  inTime()
  await back(await answerOfPages(refresh!, origin, person.login), pages)
  t.match((await pages.visit('/sign-in/')).text, `${person.email} ·`)
  t.match(
    await rowsOf(
      service.databases.superuser,
      `select i.user_id, s.confined_to from federated_identities i join sessions s on s.user_id = i.user_id
       where i.connection_id = '${id}' and s.connection_id = '${id}'`,
    ),
    [{ user_id: person.id, confined_to: owner.tenantId }],
  )
  return connection
}

t.test('SimpleSAMLphp reads our metadata, and signs a member in', async (t) => {
  const made = await draft('saml')
  const url = await startSimpleSaml(t, await ownMetadata(made)).catch((error: Error) => error)
  if (url instanceof Error) return t.plan(0, url.message)
  const saml = { metadata_url: `${url}/saml2/idp/metadata.php` }
  const expected = { person: ada, says: ['ada-7f3', 'ada@example.com', 'Lovelace'] }
  await signsIn(t, made, { saml }, expected)
  await signsIn(t, made, { subject_attribute: 'employeeId' }, expected)
})

const attributeMapper = (name: string, property: string) => ({
  ...{ name, protocol: 'saml', protocolMapper: 'saml-user-property-mapper' },
  config: { 'user.attribute': property, 'attribute.name': name, 'attribute.nameformat': 'Basic' },
})

/** What the console of Keycloak makes of a client of SAML with a persistent NameID. */
const samlClient = {
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
const oidcClient = { protocol: 'openid-connect', enabled: true, clientId: 'bailiwick', secret: 'of-a-test' }

t.test('Keycloak signs a member in, by OpenID Connect and by SAML', async (t) => {
  const [oidc, saml] = [await draft('oidc'), await draft('saml')]
  const { entity_id: clientId, acs_url: acsUrl } = saml.saml.service_provider
  const realm = await startKeycloak(t, [
    { ...samlClient, clientId, redirectUris: [acsUrl] },
    { ...oidcClient, redirectUris: [oidc.oidc.redirect_uri] },
  ]).catch((error: Error) => error)
  if (realm instanceof Error) return t.plan(0, realm.message)
  const says = ['ada@example.com', 'Lovelace']
  await signsIn(t, oidc, { oidc: { issuer: realm, client_secret: oidcClient.secret } }, { person: ada, says })
  const change = { saml: { metadata_url: `${realm}/protocol/saml/descriptor` } }
  const connection = await signsIn(t, saml, change, { person: ada, says: ['G-', ...says] })
  t.equal(connection.saml.entity_id, realm)
})

t.test('LemonLDAP::NG signs a member in, by OpenID Connect and by SAML', async (t) => {
  const [oidc, saml] = [await draft('oidc'), await draft('saml')]
  const url = await startLemonLdap(t, {
    redirectUri: oidc.oidc.redirect_uri,
    secret: 'of-a-test',
    metadata: await ownMetadata(saml),
  }).catch((error: Error) => error)
  if (url instanceof Error) return t.plan(0, url.message)
  const expected = { person: dwho, says: ['dwho@badwolf.org'] }
  await signsIn(t, oidc, { oidc: { issuer: url, client_secret: 'of-a-test' } }, expected)
  await signsIn(t, saml, { saml: { metadata_url: `${url}saml/metadata` } }, expected)
})
