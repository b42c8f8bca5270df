import { nilUuid } from '../../src/crypto/uuid.ts'
import { asSystem } from '../../src/database/executor/transaction.ts'
import { clientIdOf, manifestRowId } from '../../src/oauth/clients/client-id.ts'
import { putManifestClient } from '../../src/oauth/clients/manifest-store.ts'
import type { Service } from '../helpers/service.ts'
import { basicOf, callback } from '../oauth/relying-party.ts'
import { type Estate, openEstate, otherAddresses, stillWorks } from './applications.ts'
import type { Attack, Tally } from './attack.ts'

// Seeded random requests to the endpoints of OpenID Connect. Each begins as one that is right but for one thing: a code of
// another client, another address, no verifier. Then some of its other parts are doubled, left out or replaced. So no answer may
// have a token, an error is one of the RFCs, and no browser is led to another address.

const seed = 20_261_128

export const openidFuzz: Attack = {
  name: 'openid-fuzz',
  about: 'random wrong requests to the endpoints of OpenID Connect',
  async run(stage, tally) {
    const service = await stage.fresh({ workers: false, env: { RATE_LIMIT_ENABLED: 'false' } })
    const [own, theirs] = [await openEstate(service), await openEstate(service)]
    const logbook = await openLogbook(service)
    const random = randomOf(seed)
    const seen = new Map<string, number>()
    const total = stage.pick(240, 4_000, 20_000)
    for (
      let done = 0, codes = { at: Number.NEGATIVE_INFINITY, fresh: [] as Code[] };
      done < total;
      done += lanes
    ) {
      // Codes last a minute of the machine.
      if (performance.now() > codes.at + 30_000)
        codes = { at: performance.now(), fresh: [await own.newCode(), await theirs.newCode()] }
      const world = { own, theirs, logbook, codes: codes.fresh, service }
      const shots = Array.from({ length: lanes }, () => garble(shotOf(world, random), theirs, random))
      await Promise.all(shots.map((shot) => send(tally, service, shot, seen)))
    }
    tally.figures.push(
      [...seen]
        .sort()
        .map(([what, count]) => `${count} × ${what}`)
        .join(', '),
    )
    for (const estate of [own, theirs]) await stillWorks(tally, service, estate)
  },
}

const lanes = 8

type Random = (below: number) => number
type Code = { code: string; verifier: string }

/** Mulberry32. */
function randomOf(start: number): Random {
  let state = start
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** Names and values as they are sent, percent-encoded. */
type Fields = [name: string, value: string][]

interface Shot {
  what: string
  method: string
  path: string
  fields: Fields
  headers: Record<string, string>
  /** The fields without which it would be right. */
  kept?: RegExp
}

interface World {
  own: Estate
  theirs: Estate
  /** The `client_id` of an application of all tenants. */
  logbook: string
  codes: Code[]
  service: Service
}

/** An application of a manifest, which asks no one for a consent. */
async function openLogbook({ deps }: Service): Promise<string> {
  const id = manifestRowId('logbook', 'web')
  const fields = { name: 'Logbook', kind: 'web', redirect_uris: [callback], first_party: true }
  const row = { id, application: 'logbook', key: 'web', fields, voids: false, at: deps.clock() }
  await asSystem(deps.db, 'manifests belong to no tenant', async (tx) => putManifestClient(tx, row))
  return clientIdOf({ tenantId: nilUuid, id })
}

const oneOf = <T>(random: Random, list: readonly T[]): T => list[random(list.length)]!
const fieldsOf = (fields: Record<string, string>): Fields =>
  Object.entries(fields).map(([name, value]) => [name, encodeURIComponent(value)])

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

function shotOf(world: World, random: Random): Shot {
  const { own, theirs, logbook } = world
  const asMachine = basicOf(own.machine)
  const [mine, foreign] = world.codes as [Code, Code]
  const exchange = { grant_type: 'authorization_code', redirect_uri: callback }
  const refresh = (token: string) => ({ grant_type: 'refresh_token', refresh_token: token })
  const { secrets } = theirs
  const post = (
    path: string,
    fields: Record<string, string>,
    headers = { Authorization: own.basic },
  ): Shot => ({
    what: `POST ${path}`,
    method: 'POST',
    path,
    fields: fieldsOf(fields),
    headers: headers as Record<string, string>,
  })
  const token = (fields: Record<string, string>, headers?: { Authorization: string }) =>
    post('/oauth/token', fields, headers)
  const anonymous = {} as { Authorization: string }
  const asPage = { client_id: own.page.client.id }
  const foreignTokens = Object.values(secrets)
  const asked = {
    client_id: own.shop.client.id,
    redirect_uri: callback,
    response_type: 'code',
    scope: 'openid',
    state: 's',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  }
  const get = (
    path: string,
    fields: Record<string, string>,
    cookie = oneOf(random, ['', own.cookie]),
  ): Shot => ({
    what: `GET ${path}`,
    method: 'GET',
    path,
    fields: fieldsOf(fields),
    headers: cookie ? { Cookie: cookie } : {},
  })
  const shots: (() => Shot)[] = [
    () => token({ ...exchange, code: foreign.code, code_verifier: foreign.verifier }),
    () => token({ ...exchange, code: mine.code, code_verifier: foreign.verifier }),
    () => token({ ...exchange, code: mine.code }),
    () => token({ ...exchange, ...asPage, code: mine.code, code_verifier: mine.verifier }, anonymous),
    () =>
      token({
        ...exchange,
        code: mine.code,
        code_verifier: mine.verifier,
        redirect_uri: oneOf(random, otherAddresses),
      }),
    () => token({ ...exchange, code: oneOf(random, foreignTokens), code_verifier: mine.verifier }),
    () => token(refresh(oneOf(random, [...foreignTokens, own.secrets.access, own.secrets.idToken]))),
    () => token({ ...refresh(own.secrets.refresh), ...asPage }, anonymous),
    () =>
      token(refresh(own.secrets.refresh), { Authorization: `Basic ${btoa(`${own.shop.client.id}:bws_no`)}` }),
    () => token({ ...refresh(own.secrets.refresh), client_id: own.shop.client.id }, anonymous),
    () =>
      token(
        { grant_type: deviceGrant, device_code: secrets.deviceCode, client_id: own.tv.client.id },
        anonymous,
      ),
    () =>
      token(
        { grant_type: deviceGrant, device_code: own.secrets.deviceCode, client_id: own.tv.client.id },
        anonymous,
      ),
    () => token({ grant_type: 'client_credentials', scope: 'member:list' }),
    () => ({
      ...token(
        { grant_type: 'client_credentials', scope: 'member:list', resource: theirs.resource.identifier },
        asMachine,
      ),
      kept: /^resource$/,
    }),
    () => token({ ...exchange, code: mine.code, code_verifier: mine.verifier }, asMachine),
    () => token(refresh(oneOf(random, Object.values(own.secrets))), asMachine),
    () => token({ grant_type: deviceGrant, device_code: own.secrets.deviceCode }, asMachine),
    () => post('/oauth/introspect', { token: oneOf(random, foreignTokens) }, asMachine),
    () => post('/oauth/revoke', { token: oneOf(random, Object.values(own.secrets)) }, asMachine),
    () =>
      token({
        grant_type: oneOf(random, otherGrants),
        username: own.owner.email,
        password: own.owner.password,
        assertion: secrets.apiToken,
        subject_token: secrets.apiToken,
      }),
    () => post('/oauth/par', { ...asked, redirect_uri: oneOf(random, [callback, ...otherAddresses]) }),
    () =>
      post(
        '/oauth/device_authorization',
        { client_id: oneOf(random, [own.tv, theirs.tv, own.shop]).client.id, scope: 'openid' },
        anonymous,
      ),
    () => post('/oauth/introspect', { token: oneOf(random, foreignTokens) }),
    () => post('/oauth/revoke', { token: oneOf(random, foreignTokens) }),
    () => post('/oauth/userinfo', { access_token: oneOf(random, foreignTokens.slice(1)) }, anonymous),
    () => ({
      ...get('/oauth/userinfo', {}),
      headers: { Authorization: `Bearer ${oneOf(random, foreignTokens.slice(1))}` },
    }),
    () => get('/oauth/authorize', asked, ''),
    () => get('/oauth/authorize', { ...asked, redirect_uri: oneOf(random, otherAddresses) }),
    () => get('/oauth/authorize', { ...asked, client_id: theirs.shop.client.id }),
    () =>
      get('/oauth/authorize', {
        ...asked,
        response_type: oneOf(random, ['token', 'id_token', 'code token', 'none']),
      }),
    () => get('/oauth/authorize', { ...asked, code_challenge_method: 'plain' }),
    () =>
      get('/oauth/authorize', { ...fieldsWithout(asked, /code_challenge/), client_id: own.page.client.id }),
    () => get('/oauth/authorize', { client_id: own.shop.client.id, request_uri: secrets.requestUri }),
    () => get('/oauth/authorize', { ...asked, organization: theirs.owner.tenantId }),
    () => get('/oauth/authorize', { ...asked, client_id: own.machine.client.id }),
    () =>
      get('/oauth/authorize', {
        ...asked,
        client_id: logbook,
        organization: oneOf(random, [theirs.owner.tenantId, theirs.shop.client.id, logbook, 'x']),
      }),
    () => get(`/oauth/authorize/${oneOf(random, ['x', 'a'.repeat(64), secrets.userCode])}`, {}),
    () =>
      get('/oauth/logout', { id_token_hint: `${secrets.idToken}x`, post_logout_redirect_uri: callback }, ''),
    () =>
      get(
        '/oauth/logout',
        { client_id: own.shop.client.id, post_logout_redirect_uri: oneOf(random, otherAddresses.slice(2)) },
        '',
      ),
    () => post('/oauth/logout', { id_token_hint: secrets.idToken, client_id: own.shop.client.id }, anonymous),
    () => get('/sign-in/device/', { user_code: secrets.userCode }),
    () => post('/sign-in/device/', { user_code: secrets.userCode }, anonymous),
    () => get('/.well-known/openid-configuration', {}, ''),
  ]
  return oneOf(random, shots)()
}

const otherGrants = [
  'password',
  'implicit',
  'urn:ietf:params:oauth:grant-type:token-exchange',
  'urn:ietf:params:oauth:grant-type:jwt-bearer',
  'urn:openid:params:grant-type:ciba',
]

const fieldsWithout = (fields: Record<string, string>, names: RegExp) =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.test(name)))

/** Percent-encoded: NUL, bytes that are no UTF-8, marks that turn the direction of text, and so on. */
const odd = [
  '',
  '%00',
  'a%00b',
  '%ff%fe',
  '%c0%af',
  '%ed%a0%80',
  '%E2%80%AEcod',
  '%F0%9F%94%91',
  '%',
  '%zz',
  '+',
  '%0d%0aX:%20y',
  '%7B%22a%22:1%7D',
  '__proto__',
  '-1',
  '1e400',
  '99999999999999999999',
  'x'.repeat(5_000),
  'openid+openid',
  'urn:ietf:params:oauth:request_uri:x',
  'bwa_x',
  'eyJhbGciOiJub25lIn0.e30.',
]

const otherNames = [
  'client_secret',
  'client_assertion',
  'client_assertion_type',
  'request',
  'registration',
  'claims',
  'max_age',
  'prompt',
  'resource',
  'response_mode',
  'id_token_hint',
  'login_hint',
  'ui_locales',
  'acr_values',
  'dpop_jkt',
  'nonce',
  'scope',
  'organization',
  '__proto__',
  'constructor',
  'a%5Bb%5D',
  '%00',
]

/** Changes up to three parts. What is put in is never what would make the request right. */
function garble(shot: Shot, theirs: Estate, random: Random): Shot {
  const fields: Fields = shot.fields.map(([name, value]) => [name, value])
  const { headers, kept = /^organization$/ } = shot
  let { method } = shot
  const foreign = [
    theirs.shop.client.id,
    theirs.owner.tenantId,
    theirs.resource.identifier,
    ...Object.values(theirs.secrets).slice(1), // userinfo would take the first
  ]
  for (let n = random(4); n > 0; n--) {
    const place = random(fields.length + 1)
    if (kept.test(fields[place]?.[0] ?? '')) continue
    const value = random(4) ? oneOf(random, odd) : encodeURIComponent(oneOf(random, foreign))
    const kind = random(8)
    if (kind < 2 && fields[place]) fields[place][1] = value
    else if (kind === 2 && fields[place]) fields.push([fields[place][0], value])
    else if (kind === 3) fields.splice(place, 1)
    else if (kind === 4)
      headers['Content-Type'] = oneOf(random, [
        'application/json',
        'text/plain',
        'multipart/form-data; boundary=x',
        'application/x-www-form-urlencoded; charset=utf-7',
        'x',
      ])
    else if (kind === 5 && random(3) === 0) method = oneOf(random, ['GET', 'POST', 'PUT', 'HEAD', 'OPTIONS'])
    else if (kind === 6 && headers.Authorization)
      headers.Authorization = oneOf(random, [
        'Basic',
        'Basic x',
        'Basic Og==',
        'Bearer x',
        'DPoP x',
        `${headers.Authorization}x`,
      ])
    else fields.push([oneOf(random, otherNames), value])
  }
  return { ...shot, method, fields, headers }
}

async function send(
  tally: Tally,
  service: Service,
  { what, method, path, fields, headers }: Shot,
  seen: Map<string, number>,
) {
  const text = fields.map(([name, value]) => `${name}=${value}`).join('&')
  const inBody = method === 'POST' || method === 'PUT'
  const answer = await fetch(`${service.url}${path}${inBody ? '' : `?${text}`}`, {
    method,
    redirect: 'manual',
    headers: { ...(inBody && { 'Content-Type': 'application/x-www-form-urlencoded' }), ...headers },
    ...(inBody && { body: text }),
  })
  const body = await answer.text()
  if (answer.status >= 500) tally.serverErrors++
  const key = `${what.split(' ')[1]!.split('/').slice(0, 3).join('/')} ${answer.status}`
  seen.set(key, (seen.get(key) ?? 0) + 1)
  // What was pushed is stored when a browser brings its name.
  const pushed = path === '/oauth/par' && /"request_uri":"([^"]*)"/.exec(body)?.[1]
  if (pushed) {
    const by = fields.find(([name]) => name === 'client_id')
    const more: Fields = [...(by ? [by] : []), ['request_uri', encodeURIComponent(pushed)]]
    const next = { what: 'GET /oauth/authorize', method: 'GET', path: '/oauth/authorize', headers: {} }
    await send(tally, service, { ...next, fields: more }, seen)
  }
  const fault = faultOf(path, method, answer, body)
  tally.count(`${what} ${text.slice(0, 400)}`, fault && `${fault}: ${answer.status} ${body.slice(0, 200)}`)
}

/** RFC 6749 §5.2, RFC 7009 §2.2, RFC 8628 §3.5, RFC 8707 §2, RFC 9126 §2.3. */
const errors =
  /^(invalid_(request|client|grant|scope|target|token|request_uri|request_object|redirect_uri)|unauthorized_client|unsupported_(grant|response|token)_type|unsupported_response_mode|authorization_pending|slow_down|access_denied|expired_token|request(_uri)?_not_supported|registration_not_supported|invalid_authorization_details)$/

function faultOf(path: string, method: string, { status, headers }: Response, body: string): string | null {
  if (status >= 500) return 'a fault of ours'
  const to = headers.get('location') ?? ''
  const hasToken = /"(access_token|refresh_token|id_token|sub)":|"active":true|name="code"/.test(body)
  if (hasToken || /[?&#](code|access_token|id_token)=/.test(to)) return 'a token'
  const refreshed = /http-equiv="refresh" content="0; ?url=([^"]*)"/.exec(body)?.[1] ?? ''
  for (const one of [to, refreshed])
    if (/^([a-z]+:|\/\/)/i.test(one) && !/^[?#]?$/.test(one.replace(callback, '').slice(0, 1)))
      return `leads to ${one}`
  const isOfPrograms = /^\/oauth\/(token|par|device_authorization|introspect|revoke|userinfo)$/.test(path)
  if (!isOfPrograms || status < 400 || method === 'HEAD' || method === 'PUT') return null
  if (!/no-store/.test(headers.get('cache-control') ?? '')) return 'may be stored'
  const error = /^\{.*"error":"([^"]*)"/.exec(body)?.[1] ?? ''
  return errors.test(error) || status === 404 ? null : `the error ${error}`
}
