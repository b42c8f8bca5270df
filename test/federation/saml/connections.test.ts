import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { checkConnections } from '../../../src/federation/connections/check-connections.ts'
import { findUpstream } from '../../../src/federation/find-upstream.ts'
import { beginFlow, takeAnswer } from '../../../src/federation/flows.ts'
import { colleague } from '../../helpers/colleague.ts'
import { proveAddress } from '../../helpers/prove-address.ts'
import { query, rowsOf } from '../../helpers/query.ts'
import { type Client, type Json, startService } from '../../helpers/service.ts'
import { openPages } from '../../pages/sign-in/page-client.ts'
import { idp, next, other } from './certificates.ts'
import { answerTo, honest, idpEntityId, metadataXml } from './identity-provider.ts'

const service = await startService(t, { env: { FEDERATION_ALLOWED_HOSTS: 'localhost' } })
const at = '/api/v1/connections/'
const day = 24 * 3_600_000
const pathOf = ({ id }: Json) => `${at}${id}/`

/** What the identity provider publishes at `place`. */
const published = { xml: metadataXml(idp.certificate) }
const server = createServer((_request, response) => response.end(published.xml)).listen(0, '127.0.0.1')
await once(server, 'listening')
t.teardown(() => server.close())
const place = `http://localhost:${(server.address() as AddressInfo).port}/metadata`

const connect = async (owner: Client, saml: object, more: object = {}): Promise<Json> => {
  const { status, body } = await owner.post(at, { name: 'Nordwind', kind: 'saml', saml, ...more })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body
}
const uploaded = { metadata: metadataXml(idp.certificate) }

const begin = async (by: Client, connection: Json): Promise<string> => {
  const { status, body } = await by.post(`${pathOf(connection)}test/`)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body.url
}
/** As the browser does whose page is of the identity provider: it has no cookie of ours. */
const post = async ({ id }: Json, form: URLSearchParams) => {
  const answer = await fetch(`${service.url}/saml/${id}/acs`, {
    method: 'POST',
    body: form,
    redirect: 'manual',
    headers: { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://idp.example' },
  })
  const { status, headers } = answer
  return { status, text: await answer.text(), location: headers.get('location') }
}
const activated = async (owner: Client, saml: object): Promise<Json> => {
  const made = await connect(owner, saml)
  await post(made, answerTo(await begin(owner, made), service.now()))
  const { status, body } = await owner.patch(pathOf(made), { status: 'active' })
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body
}
/** The daily look at connections, a day later. */
const nextDay = async (...people: Client[]) => {
  service.advance(day)
  for (const person of people) Object.assign(person, await service.logIn(person))
  return checkConnections({ worker: service.worker!.db, service: service.worker!.service }, service.now())
}
const lettersTo = async ({ tenantId }: Client) => {
  const mails = `select template from mails where tenant_id = '${tenantId}' and template like 'connection_%'`
  return (await rowsOf(service.databases.superuser, mails)).map(({ template }) => template)
}
const fault = (field: string) => ({ status: 400, body: { errors: [{ field }] } })

t.test('a connection shows what its metadata says, and what to copy to the identity provider', async (t) => {
  const owner = await service.signUp()
  const made = await connect(owner, { metadata: metadataXml(idp.certificate, next.certificate) })
  t.match(made, {
    kind: 'saml',
    status: 'draft',
    subject_attribute: 'NameID',
    saml: {
      entity_id: idpEntityId,
      metadata_url: null,
      sign_in_url: 'https://idp.example/sso?a=1',
      certificates: [{ sha256: /^[0-9A-F:]{95}$/, ends_at: /^2126-/ }, { ends_at: /^2126-/ }],
      service_provider: {
        entity_id: new RegExp(`/saml/${made.id}/metadata$`),
        acs_url: new RegExp(`/saml/${made.id}/acs$`),
      },
    },
  })
  t.notMatch(JSON.stringify(made), /BEGIN CERTIFICATE/)
  t.notOk('oidc' in made)
  t.match((await connect(owner, { metadata_url: place })).saml, {
    metadata_url: place,
    entity_id: idpEntityId,
  })
})

t.test('metadata that cannot be read, and fields of another kind, are named', async (t) => {
  const owner = await service.signUp()
  const send = (saml: object, more: object = {}) => owner.post(at, { name: 'A', kind: 'saml', saml, ...more })
  const oidc = { issuer: 'https://login.example', client_id: 'a', client_secret: 'b' }
  t.match(await send({ metadata: '<html/>' }), {
    status: 400,
    body: { errors: [{ field: 'saml.metadata', detail: /not the metadata of SAML/ }] },
  })
  t.match(await send({ metadata_url: 'https://10.0.0.1/metadata' }), fault('saml.metadata_url'))
  t.match(await send({ metadata_url: 'http://localhost:1/' }), fault('saml.metadata_url'), 'no answer')
  t.match(await send({ ...uploaded, metadata_url: place }), fault('saml'), 'both')
  t.match(await send({}), fault('saml'), 'neither')
  t.match(await send(uploaded, { oidc }), fault('oidc'))
  t.match(await owner.post(at, { name: 'A', kind: 'oidc', oidc, saml: uploaded }), fault('saml'))
  t.match(await owner.post(at, { name: 'A', kind: 'ldap', oidc }), fault('kind'))
  t.match(await owner.patch(pathOf(await connect(owner, uploaded)), { oidc }), fault('oidc'))
  const { body: other } = await owner.post(at, { name: 'A', kind: 'oidc', oidc })
  t.match(await owner.patch(pathOf(other), { saml: uploaded }), fault('saml'))
  const plain = metadataXml(idp.certificate).replace('https://idp.example/sso', 'http://idp.example/sso')
  t.match(await send({ metadata: plain }), fault('saml.metadata'), 'its page is not at https')
})

t.test(
  'another identity provider makes a draft; certificates that its own address gives do not',
  async (t) => {
    const owner = await service.signUp()
    const otherEntity = metadataXml(idp.certificate).replace(idpEntityId, 'https://other.example')
    for (const saml of [
      { metadata: otherEntity },
      { metadata: metadataXml(other.certificate) },
      { metadata: metadataXml(idp.certificate, next.certificate) },
      { metadata_url: place },
    ]) {
      const active = await activated(owner, uploaded)
      const { body } = await owner.patch(pathOf(active), { saml })
      t.match(body, { status: 'draft', tested_at: null }, JSON.stringify(saml).slice(0, 500))
      await owner.delete(pathOf(active))
    }
    const active = await activated(owner, uploaded)
    const moved = metadataXml(idp.certificate).replace('/sso?a=1', '/new')
    t.match(await owner.patch(pathOf(active), { saml: { metadata: moved } }), {
      body: { status: 'active', saml: { sign_in_url: 'https://idp.example/new' } },
    })

    const ofAddress = await activated(owner, { metadata_url: place })
    published.xml = metadataXml(next.certificate)
    const { body } = await owner.patch(pathOf(ofAddress), { saml: { metadata_url: place } })
    t.match(body, { status: 'active' })
    t.not(body.saml.certificates[0].sha256, ofAddress.saml.certificates[0].sha256)
    published.xml = metadataXml(idp.certificate)
    t.match(
      await owner.patch(pathOf(ofAddress), { saml: { metadata_url: `${place}?mine` } }),
      { body: { status: 'draft' } },
      'an address of an editor could give their own certificates later',
    )
  },
)

t.test('our metadata is served, and unknown connections have none', async (t) => {
  const owner = await service.signUp()
  const made = await connect(owner, uploaded)
  const answer = await fetch(`${service.url}/saml/${made.id}/metadata`)
  t.equal(answer.headers.get('content-type'), 'application/samlmetadata+xml')
  const text = await answer.text()
  t.match(text, `entityID="${made.saml.service_provider.entity_id}"`)
  t.match(text, `Location="${made.saml.service_provider.acs_url}"`)
  const { body: oidc } = await owner.post(at, {
    name: 'A',
    kind: 'oidc',
    oidc: { issuer: 'https://login.example', client_id: 'a', client_secret: 'b' },
  })
  for (const id of [oidc.id, owner.id, 'x']) {
    t.equal((await fetch(`${service.url}/saml/${id}/metadata`)).status, 404, id)
    t.equal((await post({ id }, new URLSearchParams({ SAMLResponse: 'AAAA' }))).status, 404, id)
  }
  t.equal((await fetch(`${service.url}/saml/${made.id}/acs`)).status, 405)
})

t.test('an owner tries a connection at its identity provider, and activates it', async (t) => {
  const owner = await service.signUp()
  const made = await connect(owner, uploaded)
  const url = await begin(owner, made)
  t.equal(new URL(url).searchParams.get('RelayState')!.length, 80, 'as many bytes as the standard allows')
  t.match(await owner.patch(pathOf(made), { status: 'active' }), { status: 409 }, 'not yet')
  const answer = answerTo(url, service.now())
  t.match(await post(made, answer), { status: 200, text: /ada-7f3.*ada@example\.com/s })
  t.match((await owner.get(pathOf(made))).body, { status: 'draft', tested_at: String })
  t.match(await post(made, answer), { status: 409 }, 'an answer counts once')
  t.match(await owner.patch(pathOf(made), { status: 'active' }), { body: { status: 'active' } })
  const { results } = (await owner.get('/api/v1/audit-log/?action=connection:test')).body
  t.match(results, [{ actor: { id: owner.id, email: owner.email }, target: { id: made.id } }])
})

t.test('the page of a try says why an answer is refused', async (t) => {
  const owner = await service.signUp()
  const made = await connect(owner, uploaded)
  const audience = honest.conditions.replace(/<saml:Audience>[^<]*/, '<saml:Audience>urn:other')
  const attempts: [string, RegExp, Parameters<typeof answerTo>[2]][] = [
    [
      'another audience',
      /names the audience &quot;urn:other&quot;, and this connection is/,
      { parts: { conditions: audience } },
    ],
    ['another certificate', /does not contain \(SHA-256 [0-9A-F:]+\)/, { how: other }],
    [
      'a status',
      /it answered Responder/,
      { parts: { status: '<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Responder"/>' } },
    ],
    [
      'a NameID that is an address',
      /holds an address/,
      { parts: { nameId: honest.nameId.replace('ada-7f3', 'ada@example.com') } },
    ],
  ]
  for (const [what, text, said] of attempts) {
    const answer = await post(made, answerTo(await begin(owner, made), service.now(), said))
    t.match(answer, { status: 200, text }, what)
    t.match(answer.text, /role="alert"/, what)
  }
  t.match((await owner.get(pathOf(made))).body, { tested_at: null })
})

t.test('an answer counts for the connection, the version and the time of its beginning alone', async (t) => {
  const owner = await service.signUp()
  const [made, second] = [await connect(owner, uploaded), await connect(owner, uploaded)]
  const answer = answerTo(await begin(owner, made), service.now())
  t.match(await post(second, answer), { status: 400 }, 'at another connection')
  const state = answer.get('RelayState')!
  const changed = (place: number) =>
    state.slice(0, place) + (state[place] === 'A' ? 'B' : 'A') + state.slice(place + 1)
  for (const RelayState of [changed(0), changed(30), changed(79), '', 'x'.repeat(80), `${state}A`]) {
    const forged = new URLSearchParams({ SAMLResponse: answer.get('SAMLResponse')!, RelayState })
    t.match(await post(made, forged), { status: 400 }, RelayState)
  }
  const of = (url: string) =>
    new URLSearchParams({
      ...Object.fromEntries(answer),
      RelayState: new URL(url).searchParams.get('RelayState')!,
    })
  t.match(
    await post(made, of(await begin(owner, made))),
    { text: /answers another sign-in/ },
    'of another try',
  )
  await owner.patch(pathOf(made), { trusts_mfa: true })
  t.match(await post(made, answer), { status: 409 }, 'it was changed meanwhile')
  const late = answerTo(await begin(owner, made), service.now() + 600_000)
  service.advance(600_001)
  t.match(await post(made, late), { status: 400 }, 'too late')
  for (const one of [made, second]) t.match((await owner.get(pathOf(one))).body, { tested_at: null })
})

t.test('a sign-in that began at the identity provider begins here instead', async (t) => {
  const owner = await service.signUp()
  const active = await activated(owner, uploaded)
  const unsolicited = answerTo(await begin(owner, active), service.now(), {
    parts: {
      responseInResponseTo: '',
      confirmation: honest.confirmation.replace(/ InResponseTo="[^"]*"/, ''),
    },
  })
  unsolicited.set('RelayState', 'https://evil.example/')
  const { status, location, text } = await post(active, unsolicited)
  t.same([status, location, text.includes('evil')], [303, `/sign-in/with/${active.id}/`, false])
})

t.test('the answer to a sign-in of ours is kept once, for the browser that began', async (t) => {
  const owner = await service.signUp()
  const { id } = await activated(owner, uploaded)
  const upstream = (await findUpstream(service.deps, id))!
  const url = await beginFlow(service.deps, upstream, { browser: 'of-ada', returnTo: null })
  const answer = answerTo(url, service.now())
  const state = answer.get('RelayState')!
  const { status, location } = await post({ id }, answer)
  t.same([status, location], [303, `/sign-in/callback/${id}/?state=${state}`])
  t.match(await post({ id }, answer), { status: 303, location: `/sign-in/with/${id}/` }, 'a second time')
  const take = (browser: string) =>
    takeAnswer(service.deps, { provider: id, browsers: [browser], query: new URLSearchParams({ state }) })
  await t.rejects(take('of-eve'), { code: 'state_not_valid' })
  const taken = await take('of-ada')
  const redirectUri = `${service.url}/sign-in/callback/${id}/`
  t.match(await upstream.finish({ ...taken, redirectUri, at: service.now() }), {
    issuer: idpEntityId,
    attribute: 'NameID',
    subject: 'ada-7f3',
    email: 'ada@example.com',
    isAuthority: false,
    amr: [],
    authTime: service.now() - 20_000,
  })
})

t.test('a sign-in is noted with its NameID, or with why its answer is refused', async (t) => {
  const owner = await service.signUp()
  const { id } = await activated(owner, uploaded)
  const pages = openPages(service)
  const through = async (said: Parameters<typeof answerTo>[2] = {}) => {
    await pages.visit(`/sign-in/with/${id}/`)
    const { refresh } = await pages.send({})
    const { location } = await post({ id }, answerTo(refresh!, service.now(), said))
    await pages.visit(location!)
    return (await owner.get(`${at}${id}/sign-ins/?page_size=1`)).body.results[0]
  }
  t.match(await through(), {
    code: 'sign_in_refused',
    claims: { iss: idpEntityId, NameID: 'ada-7f3', email: 'ada@example.com' },
  })
  const conditions = honest.conditions.replace(/<saml:Audience>[^<]*/, '<saml:Audience>urn:other')
  t.match(await through({ parts: { conditions } }), {
    code: 'provider_refused',
    reason: /names the audience "urn:other", and this connection is/,
    claims: null,
  })
})

t.test('a form that is too long, or none, is refused before a document is read', async (t) => {
  const owner = await service.signUp()
  const made = await connect(owner, uploaded)
  const url = await begin(owner, made)
  const long = answerTo(url, service.now())
  long.set('SAMLResponse', 'A'.repeat(600 * 1024))
  t.match(await post(made, long), { status: 413 })
  long.set('SAMLResponse', 'A'.repeat(400 * 1024))
  t.match(await post(made, long), { status: 200, text: /longer than 256 KiB/ })
  const json = await fetch(`${service.url}/saml/${made.id}/acs`, { method: 'POST', body: '{}' })
  t.equal(json.status, 415)
})

t.test("an admin's identity provider does not become the voice of the owner", async (t) => {
  const owner = await service.signUp()
  const admin = await colleague(service, owner, 'admin')
  const active = await activated(owner, uploaded)
  const mine = { saml: { metadata: metadataXml(other.certificate) } }
  t.match(await admin.patch(pathOf(active), { ...mine, status: 'active' }), { status: 403 })
  t.match((await admin.get(pathOf(active))).body, active, 'nothing changed')
  await admin.patch(pathOf(active), mine)
  await post(active, answerTo(await begin(admin, active), service.now(), { how: other }))
  t.match((await admin.get(pathOf(active))).body, { status: 'draft', tested_at: String })
  t.match(await admin.patch(pathOf(active), { status: 'active' }), { status: 403 })
  t.match(await owner.patch(pathOf(active), { status: 'active' }), { status: 409 }, 'the admin tried it')
})

t.test(
  'metadata at an address is read daily, and its certificates count while it is the same provider',
  async (t) => {
    const owner = await service.signUp()
    const active = await activated(owner, { metadata_url: place })
    const read = async (xml: string) => {
      published.xml = xml
      await nextDay(owner)
      return (await owner.get(pathOf(active))).body
    }
    t.same((await read(metadataXml(idp.certificate))).saml, active.saml, 'nothing changed')
    const rotated = await read(metadataXml(next.certificate))
    t.match(rotated, { status: 'active', saml: { fault: null } })
    t.not(rotated.saml.certificates[0].sha256, active.saml.certificates[0].sha256)
    const forged = metadataXml(other.certificate).replace(idpEntityId, 'https://other.example')
    for (const [xml, fault] of [
      [forged, /of another identity provider: https:\/\/other\.example/],
      ['<html/>', /not the metadata of SAML/],
    ] as const)
      t.match(await read(xml), { status: 'active', saml: { ...rotated.saml, fault } })
    t.same((await read(metadataXml(next.certificate))).saml, rotated.saml)
    const { results } = (await owner.get('/api/v1/audit-log/?action=connection:check')).body
    t.match(results, [{ actor: { type: 'system' }, changes: { saml: Object } }])
    t.equal(results.length, 1)
    published.xml = metadataXml(idp.certificate)
  },
)

t.test('owners are reminded 30, 7 and 1 days before the last certificate ends, once each', async (t) => {
  const owner = await service.signUp()
  await proveAddress(service, owner)
  const active = await activated(owner, uploaded)
  const endsAt = new Date(service.now() + 32.5 * day).toISOString()
  await query(
    service.databases.superuser,
    `update connections set config = jsonb_set(config, '{certificates,0,ends_at}', '"${endsAt}"') where id = '${active.id}'`,
  )
  const reminded: number[] = []
  for (let n = 1, before = 0; n <= 35; n++) {
    await nextDay()
    await checkConnections({ worker: service.worker!.db, service: service.worker!.service }, service.now())
    const { length } = await lettersTo(owner)
    if (length > before) reminded.push(n)
    before = length
  }
  t.same(reminded, [3, 26, 32])
  t.match(await service.mailTo(owner.email, 'certificate'), { text: /Nordwind/ })
})

t.test(
  'when the person who activated a connection holds less, another owner activates it anew',
  async (t) => {
    const owner = await service.signUp()
    const second = await colleague(service, owner, 'owner')
    await proveAddress(service, owner, second)
    const active = await activated(owner, uploaded)
    await nextDay(owner, second)
    t.same(await lettersTo(owner), [])
    await second.switchTo(owner.tenantId)
    const members = `/api/v1/tenants/${owner.tenantId}/members/`
    const { results } = (await second.get(members)).body
    const { id } = results.find(({ user_id }: Json) => user_id === owner.id)
    t.match(await second.patch(`${members}${id}/`, { roles: ['member'] }), { status: 200 })
    for (let n = 0; n < 3; n++) await nextDay(second)
    await second.switchTo(owner.tenantId)
    t.same(await lettersTo(owner), ['connection_activator_left'], 'one mail, to the owner who is left')
    t.match((await second.get(pathOf(active))).body, { status: 'active', activator_left_at: String })
    t.match(
      await second.patch(pathOf(active), { status: 'active' }),
      { body: { activator_left_at: String } },
      'it was not tried since',
    )
    await post(active, answerTo(await begin(second, active), service.now()))
    t.match(await second.patch(pathOf(active), { status: 'active' }), {
      body: { status: 'active', activator_left_at: null },
    })
  },
)
