import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import t from 'tap'
import * as thread from '../../../src/federation/saml/ask-saml-thread.ts'
import { fetchMetadata } from '../../../src/federation/saml/fetch-metadata.ts'
import { readMetadata } from '../../../src/federation/saml/metadata.ts'
import { RefusedError } from '../../../src/federation/saml/refusal.ts'
import { samlUpstream } from '../../../src/federation/saml/saml.ts'
import { signInUrl } from '../../../src/federation/saml/service-provider.ts'
import { serviceProviderMetadata } from '../../../src/federation/saml/service-provider-metadata.ts'
import { type ExpectedResponse, verifyResponse } from '../../../src/federation/saml/verify-response.ts'
import { rounds } from '../../helpers/rounds.ts'
import { ellipticCertificate, idp, next, other, weakCertificate } from './certificates.ts'
import { forgeries } from './forgeries/all.ts'
import {
  acsUrl,
  bare,
  entityId,
  entityXml,
  honest,
  idpEntityId,
  keyOf,
  now,
  posted,
  requestId,
  response,
  service,
} from './identity-provider.ts'
import { vendors } from './vendors.ts'

const expected: ExpectedResponse = {
  ...{ entityId, acsUrl, idpEntityId, requestId, now, certificates: [idp.certificate] },
  subjectAttribute: null,
}

const verify = (field: string, more: Partial<ExpectedResponse> = {}) =>
  verifyResponse(field, { ...expected, ...more }).catch((error: unknown) => {
    if (error instanceof RefusedError) return error.refusal
    throw error
  })

t.test('each forged response is refused, for its own reason', async (t) => {
  t.ok(forgeries.length >= 140, `${forgeries.length} forgeries`)
  for (const { what, code, field } of forgeries)
    t.match(await verify(field), { code, detail: /^[^\n]{10,900}\.$/ }, what)
})

t.test('responses of the usual identity providers are accepted', async (t) => {
  for (const { name, xml, subjectAttribute, says } of vendors)
    t.match(await verify(posted(xml), { subjectAttribute }), says, name)
})

t.test('what an assertion says is given as it says it', async (t) => {
  t.strictSame(await verify(posted(response())), {
    subject: 'ada-7f3',
    nameId: 'ada-7f3',
    nameIdFormat: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
    attributes: { email: ['ada@example.com'] },
    sessionIndex: 's-1',
    authnInstant: new Date(now - 20_000),
    authnContext: 'urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport',
    assertionId: '_assertion-1',
    notOnOrAfter: new Date(now + 360_000),
  })
})

t.test('a response in lines of base64, with lines of its own, is accepted', async (t) => {
  const lines = posted(response({ attributes: honest.attributes.replaceAll('><', '>\r\n  <') }))
  t.match(await verify(lines.replaceAll(/.{64}/g, '$&\r\n')), { subject: 'ada-7f3' })
})

t.test('clocks may differ by a minute', async (t) => {
  const field = posted(response())
  const at = async (seconds: number) => (await verify(field, { now: now + seconds * 1000 })) as object
  t.match(await at(-60), { subject: 'ada-7f3' })
  t.match(await at(-66), { code: 'not_yet_valid', detail: /Compare the clocks/ })
  t.match(await at(359), { subject: 'ada-7f3' })
  t.match(await at(360), { code: 'expired', detail: /12:05:00.000Z. Here it is .*12:06:00.000Z/ })
})

t.test('each certificate of the metadata can sign, and no other one', async (t) => {
  const certificates = [idp.certificate, next.certificate]
  t.match(await verify(posted(response({}, next)), { certificates }), { subject: 'ada-7f3' })
  const unknown = await verify(posted(response({}, other)), { certificates })
  t.match(unknown, { code: 'signature_invalid', detail: /SHA-256 [0-9A-F:]{95}\). Read the metadata again/ })
  const stolen = { key: other.key, certificate: idp.certificate }
  t.match(await verify(posted(response({}, stolen))), { detail: /another key than that of the metadata/ })
})

t.test('the subject is the named attribute, with one text', async (t) => {
  const subject = async (attribute: string, values: string[]) => {
    const texts = values.map((value) => `<saml:AttributeValue>${value}</saml:AttributeValue>`).join('')
    const attributes = `<saml:AttributeStatement><saml:Attribute Name="${attribute}">${texts}</saml:Attribute></saml:AttributeStatement>`
    return verify(posted(response({ attributes })), { subjectAttribute: 'uid' })
  }
  t.match(await subject('uid', ['7']), { subject: '7', nameId: 'ada-7f3' })
  for (const [name, values] of [
    ['uid', ['7', '8']],
    ['uid', []],
    ['uid', ['']],
    ['uid', [' ']],
    ['Uid', ['7']],
    ['uid', ['7'.repeat(257)]],
  ] as const)
    t.match(await subject(name, [...values]), { code: 'subject', detail: /"uid"/ }, `${name} ${values}`)
  for (const name of ['__proto__', 'constructor', 'toString'])
    t.match(await verify(posted(response()), { subjectAttribute: name }), { code: 'subject' }, name)
})

t.test('an administrator reads what came and what was expected', async (t) => {
  const told = await verify(posted(response()), { entityId: 'https://id.example/saml/0191/metadata' })
  t.match(told, {
    detail: `The assertion names the audience "${entityId}", and this connection is "https://id.example/saml/0191/metadata".`,
  })
  const own = {
    responseInResponseTo: '',
    confirmation: honest.confirmation.replace(/ InResponseTo="[^"]*"/, ''),
  }
  t.match(await verify(posted(response(own))), {
    detail: /began at the identity provider. It has to begin here/,
  })
  const long = await verify(posted(response({ issuer: `<saml:Issuer>${'x\n'.repeat(1_000)}</saml:Issuer>` })))
  t.match(long, { code: 'issuer', detail: /^The response is from "(x ){100}…", and/ })
})

const services =
  service('POST', 'https://idp.example/post') + service('Redirect', 'https://idp.example/sso?a=1&amp;b=2')

const metadataOf = (xml: string) => {
  try {
    return readMetadata(xml, now)
  } catch (error) {
    if (error instanceof RefusedError) return error.refusal
    throw error
  }
}

t.test('the metadata of an identity provider is read', async (t) => {
  const keys =
    keyOf(idp.certificate) + keyOf(next.certificate, '') + keyOf(other.certificate, ' use="encryption"')
  t.match(metadataOf(`\uFEFF${entityXml(keys + services)}`), {
    entityId: idpEntityId,
    signInUrl: 'https://idp.example/sso?a=1&b=2',
    certificates: [
      { pem: idp.certificate, fingerprint: /^([0-9A-F]{2}:){31}[0-9A-F]{2}$/, endsAt: Date },
      { pem: next.certificate },
    ],
  })
  const twice = metadataOf(entityXml(keyOf(idp.certificate) + keyOf(idp.certificate) + services))
  t.equal((twice as { certificates: unknown[] }).certificates.length, 1, 'a certificate counts once')
})

t.test('metadata that cannot be used is refused, for its own reason', async (t) => {
  const key = keyOf(idp.certificate)
  const fine = entityXml(key + services)
  for (const [what, code, xml] of [
    ['a page', 'xml_document_type', '<!DOCTYPE html><html></html>'],
    ['an entity', 'xml_document_type', `<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>${fine}`],
    ['no XML', 'xml_malformed', 'https://idp.example/metadata'],
    ['other XML', 'not_metadata', '<html/>'],
    [
      'a federation',
      'not_metadata',
      `<e>${fine.slice(fine.indexOf('<md'))}${fine.slice(fine.indexOf('<md'))}</e>`,
    ],
    ['a service provider', 'not_metadata', fine.replaceAll('IDPSSODescriptor', 'SPSSODescriptor')],
    ['an end', 'metadata_expired', entityXml(key + services, ' validUntil="2026-12-31T00:00:00Z"')],
    ['no entity id', 'entity_id', fine.replace(idpEntityId, '')],
    ['no redirect binding', 'sign_in_url', entityXml(key + service('POST', 'https://idp.example/'))],
    ['a script as address', 'sign_in_url', entityXml(key + service('Redirect', 'javascript:alert(1)'))],
    ['no certificate', 'certificate', entityXml(services)],
    ['a certificate that is none', 'certificate', fine.replace(bare(idp.certificate), 'AAAA')],
    ['RSA of 1024 bits', 'certificate', entityXml(keyOf(weakCertificate) + services)],
    ['an elliptic curve', 'certificate', entityXml(keyOf(ellipticCertificate) + services)],
    ['300 KiB', 'too_large', fine + ' '.repeat(300 * 1024)],
  ] as const)
    t.match(metadataOf(xml), { code, detail: /\.$/ }, what)
})

t.test('metadata is read at an address that the settings allow', async (t) => {
  const server = createServer((request, response) => {
    const answers: Record<string, [number, string]> = {
      '/metadata': [200, entityXml(keyOf(idp.certificate) + services)],
      '/moved': [302, ''],
      '/large': [200, 'x'.repeat(300 * 1024)],
    }
    const answer = answers[request.url!] ?? [404, '']
    response.writeHead(answer[0], { Location: '/metadata' }).end(answer[1])
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const settings = (allowed: boolean) => ({ FEDERATION_ALLOW_PRIVATE: allowed, FEDERATION_ALLOWED_HOSTS: [] })
  const at = (path: string, allowed = true) =>
    fetchMetadata(settings(allowed), 'a-tenant', { url: url + path, now })
  t.match(await at('/metadata'), { done: { entityId: idpEntityId } })
  for (const [path, allowed, detail] of [
    ['/metadata', false, /https:/],
    ['/moved', true, /it answered 302\.$/],
    ['/none', true, /it answered 404\.$/],
    ['/large', true, /more than 262144 bytes/],
  ] as const)
    t.match(await at(path, allowed), { refused: { code: 'metadata_unreachable', detail } }, path)
})

t.test('our metadata names the connection, and a request asks for what it needs', async (t) => {
  const ours = serviceProviderMetadata({ entityId, acsUrl }, null)
  t.match(ours, `entityID="${entityId}"`)
  t.match(ours, /AuthnRequestsSigned="false" WantAssertionsSigned="true"/)
  t.match(
    ours,
    /AssertionConsumerService index="1" isDefault="true" Binding="[^"]*HTTP-POST" Location="https:\/\/id.example\/saml\/0190\/acs"/,
  )
  t.match(ours, /<NameIDFormat>[^<]*:persistent</)
  t.notMatch(serviceProviderMetadata({ entityId, acsUrl }, 'uid'), /NameIDFormat/)

  const asked = {
    entityId,
    acsUrl,
    requestId,
    relayState: 'state-1',
    forceAuthn: true,
    subjectAttribute: null,
  }
  const url = new URL(await signInUrl({ ...asked, signInUrl: 'https://idp.example/sso?a=1' }))
  t.equal(url.origin + url.pathname, 'https://idp.example/sso')
  t.strictSame([url.searchParams.get('a'), url.searchParams.get('RelayState')], ['1', 'state-1'])
  const xmlOf = (from: URL) =>
    inflateRawSync(Buffer.from(from.searchParams.get('SAMLRequest')!, 'base64')).toString()
  const xml = xmlOf(url)
  for (const part of [
    `ID="${requestId}"`,
    'ForceAuthn="true"',
    `AssertionConsumerServiceURL="${acsUrl}"`,
    'Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"',
    `>${entityId}</saml:Issuer>`,
  ])
    t.match(xml, part)
  t.notMatch(xml, 'RequestedAuthnContext')
  const named = await signInUrl({
    ...asked,
    signInUrl: 'https://idp.example/',
    forceAuthn: false,
    subjectAttribute: 'uid',
  })
  t.notMatch(xmlOf(new URL(named)), /ForceAuthn| Format=/)
})

t.test('the thread answers as its parts do', async (t) => {
  t.match(await thread.verifyResponse('a', posted(response()), expected), {
    done: { subject: 'ada-7f3', authnInstant: Date },
  })
  t.match(await thread.verifyResponse('a', '', expected), { refused: { code: 'not_base64' } })
  t.match(await thread.readMetadata('a', '<html/>', now), { refused: { code: 'not_metadata' } })
})

const upstreamOf = (subjectAttribute: string | null) => {
  const about = { id: 'one', kind: 'saml', name: 'Nordwind', tenantId: 'a' } as const
  const client = { entityId, acsUrl, idpEntityId, certificates: [idp.certificate] }
  return samlUpstream({ clock: () => now }, about, {
    ...{ ...client, signInUrl: 'https://idp.example/sso' },
    subjectAttribute: subjectAttribute ?? 'NameID',
  })
}
const asked = { state: 'state-1', redirectUri: acsUrl }
const finish = (xml: string, subjectAttribute: string | null, kept: object = {}) =>
  upstreamOf(subjectAttribute).finish({
    ...asked,
    kept: { requestId, ...kept },
    parameters: new URLSearchParams({ SAMLResponse: posted(xml) }),
    at: now,
  })

t.test('an upstream of SAML begins with an id that its answer needs', async (t) => {
  const { url, kept } = await upstreamOf(null).begin({ ...asked, isFresh: true })
  t.match(kept, { requestId: /^_[0-9a-f]{40}$/, freshSince: String(now) })
  t.equal(new URL(url).searchParams.get('RelayState'), 'state-1')
  t.match(await finish(response(), null), {
    issuer: idpEntityId,
    attribute: 'NameID',
    subject: 'ada-7f3',
    isAuthority: false,
  })
  const { kept: later } = await upstreamOf(null).begin(asked)
  t.not(later.requestId, kept.requestId)
  t.notOk('freshSince' in later)
})

t.test('a new sign-in that was asked for must be new', async (t) => {
  t.match(await finish(response(), null, { freshSince: String(now + 30_000) }), { subject: 'ada-7f3' })
  await t.rejects(finish(response(), null, { freshSince: String(now + 50_000) }), {
    code: 'refused',
    message: /AuthnInstant is older/,
  })
})

t.test('the documents of one tenant hold up no other tenant', async (t) => {
  const long = posted(
    response({
      attributes: honest.attributes.replace('ada@', `${'<saml:AttributeValue/>'.repeat(300)}ada@`),
    }),
  )
  const ended: string[] = []
  const flood = Array.from({ length: 40 }, async () => {
    await thread.verifyResponse('hostile', long, expected)
    ended.push('hostile')
  })
  for (let n = 0; n < 5; n++) {
    t.match(await thread.verifyResponse('honest', posted(response()), expected), { done: {} })
    ended.push('honest')
  }
  const between = ended.lastIndexOf('honest') - 4
  t.ok(between <= 6, `${between} documents of the other tenant came between`)
  await Promise.all(flood)
  const tooMany = Array.from({ length: 202 }, () => thread.verifyResponse('hostile', 'A', expected))
  const refused = (await Promise.allSettled(tooMany)).filter(({ status }) => status === 'rejected')
  t.equal(refused.length, 1, 'and a tenant can have 200 that wait')
})

t.test('the address, the name and a second factor are found where products put them', async (t) => {
  const said = new Map<string, object>()
  for (const { name, xml, subjectAttribute } of vendors) said.set(name, await finish(xml, subjectAttribute))
  t.match(said.get('Entra ID'), { subject: '5f0c9f7b-ada', amr: ['mfa'], authTime: now - 20_000 })
  t.match(said.get('Google Workspace'), { email: 'ada@example.com', amr: [] }, 'the NameID is an address')
  t.match(said.get('SimpleSAMLphp'), { email: null, firstName: '', lastName: '' })
  const refeds = honest.authentication.replace(/urn:[^<]*Transport/, 'https://refeds.org/profile/mfa')
  t.match(await finish(response({ authentication: refeds }), null), {
    amr: ['mfa'],
    email: 'ada@example.com',
  })
})

t.test('an answer that does not hold is refused, and one that says no is a denial', async (t) => {
  const status = '<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Responder"/>'
  await t.rejects(finish(response({ status }), null), { code: 'denied', message: /it answered Responder/ })
  await t.rejects(finish(response({}, other), null), { code: 'refused', message: /Read the metadata again/ })
  const nameId = honest.nameId.replace('ada-7f3', 'ada@example.com')
  await t.rejects(finish(response({ nameId }), null), { code: 'refused', message: /NameID holds an address/ })
  await t.rejects(finish(response(), 'email'), { code: 'refused', message: /email holds an address/ })
})

/** A part of a text taken away, doubled, moved, or put in from another response. */
function edited(text: string, from: string, at: readonly [number, number, number, number]): string {
  const [way, first, second, third] = at
  const [start, end] = [first % text.length, (first % text.length) + (second % 400)]
  const part = text.slice(start, end)
  const target = third % text.length
  const rest = text.slice(0, start) + text.slice(end)
  if (way % 4 === 0) return rest
  if (way % 4 === 1) return text.slice(0, target) + part + text.slice(target)
  if (way % 4 === 2) return rest.slice(0, target) + part + rest.slice(target)
  return text.slice(0, start) + from.slice(start, end) + text.slice(end)
}

t.test('an edited response says what it said before, or is refused', async () => {
  const original = response()
  const eve = response({ nameId: honest.nameId.replace('ada-7f3', 'eve') }, other)
  const before = await verify(posted(original))
  const number = fc.nat(1_000_000)
  const edit = fc.tuple(number, number, number, number)
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 3 }), async (edits) => {
      const text = edits.reduce((xml, at) => edited(xml, eve, at), original)
      const answer = await verify(posted(text))
      if (!('code' in answer)) assert.deepStrictEqual(answer, before)
    }),
    { numRuns: rounds(200, 5_000) },
  )
})
