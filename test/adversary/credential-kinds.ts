import { fromConsole } from '../console/browser-client.ts'
import type { Answer, Client, Service } from '../helpers/service.ts'
import { callback } from '../oauth/relying-party.ts'
import { type Estate, openEstate } from './applications.ts'
import type { Attack } from './attack.ts'
import { collectCredentials } from './credentials.ts'
import { membersOf, nameOf, routesOf } from './route-addresses.ts'

type Consumer = (secret: string) => Promise<Answer>

/** Which kinds each consumer takes. Everything else has to be refused. */
const taken: Record<string, RegExp> = {
  'Bearer of an API route': /^(access|impersonation|API key|key of a service account|token for the API)$/,
  'Bearer of a sign-in': /^(access|temporary)$/,
  'Bearer of an application': /^$/,
  'cookie of the console': /^cookie$/,
  'cookie at the API': /^$/,
  'code of a session': /^(mailed code|recovery code)$/,
  'POST /api/v1/auth/refresh': /^refresh/,
  'refresh of a switch': /^refresh$/,
  'POST /api/v1/auth/email/verify/confirm': /^verification$/,
  'POST /api/v1/auth/email/verify/reject': /^verification$/,
  'POST /api/v1/auth/email/undo': /^address undo$/,
  'POST /api/v1/auth/otp/undo': /^factor undo$/,
  'POST /api/v1/auth/magic-link/confirm': /^magic link$/,
  'POST /api/v1/auth/password/reset/confirm': /^reset$/,
  'POST /api/v1/invitations/accept': /^invitation$/,
  'POST /api/v1/invitations/accept/options': /^invitation$/,
  'POST /api/v1/tenants/leave': /^leave link$/,
  'Bearer of userinfo': /^access of a client$/,
  'introspection by its client': /^((access|refresh) of a client|token for the API)$/,
  'revocation by its client': /^((access|refresh) of a client|token for the API)$/,
  'exchange of a code': /^code$/,
  'refresh of a client': /^refresh of a client$/,
  'exchange of a device code': /^device code$/,
  'request that was pushed': /^request_uri$/,
  'secret of a client': /^secret of a client$/,
}

export const credentialKinds: Attack = {
  name: 'kinds',
  about: 'every kind of token, link, code and cookie at every place that takes one',
  async run(stage, tally) {
    const service = await stage.fresh({ env: { MAGIC_LINK_ENABLED: 'true', RATE_LIMIT_ENABLED: 'false' } })
    const { secrets: own, caller } = await collectCredentials(service)
    const estate = await openEstate(service)
    const secrets = { ...own, ...(await secretsOf(estate)) }
    const places = {
      ...headerPlaces(service, caller),
      ...bodyPlaces(service, secrets),
      ...clientPlaces(service, estate),
    }
    // First every secret at every wrong place, so that none is used up. Then each where it belongs: it is still valid.
    for (const [place, use] of Object.entries(places))
      for (const [kind, secret] of Object.entries(secrets)) {
        if (taken[place]?.test(kind)) continue
        for (const text of [secret, ` ${secret}`, `${secret}=`])
          await tally.refuse(`${kind} at ${place}`, () => use(text), isRefused)
      }
    for (const [place, kind] of genuine) {
      const { status } = await places[place]!(secrets[kind]!)
      tally.check(status < 300, `the ${kind} still works at ${place} (${status})`)
    }
    tally.figures.push(`${Object.keys(secrets).length} kinds, ${Object.keys(places).length} places`)
  },
}

const genuine: [place: string, kind: string][] = [
  ['Bearer of an API route', 'access'],
  ['Bearer of an API route', 'impersonation'],
  ['Bearer of an API route', 'API key'],
  ['Bearer of a sign-in', 'temporary'],
  ['cookie of the console', 'cookie'],
  ['refresh of a switch', 'refresh'],
  ['POST /api/v1/auth/refresh', 'refresh'],
  ['POST /api/v1/auth/refresh', 'refresh of another chain'],
  ['code of a session', 'recovery code'],
  ['POST /api/v1/auth/magic-link/confirm', 'magic link'],
  ['POST /api/v1/tenants/leave', 'leave link'],
  ['POST /api/v1/invitations/accept/options', 'invitation'],
  ['POST /api/v1/invitations/accept', 'invitation'],
  ['POST /api/v1/auth/otp/undo', 'factor undo'],
  ['POST /api/v1/auth/email/undo', 'address undo'],
  ['POST /api/v1/auth/email/verify/confirm', 'verification'],
  ['Bearer of an API route', 'token for the API'],
  ['Bearer of userinfo', 'access of a client'],
  ['introspection by its client', 'access of a client'],
  ['introspection by its client', 'refresh of a client'],
  ['introspection by its client', 'token for the API'],
  ['refresh of a client', 'refresh of a client'],
]

/** 429: wrong codes are counted. A wrong code is 400 for a session; a cookie of another kind is no cookie. */
const isRefused = ({ status, body }: Answer) =>
  [400, 401, 403, 429].includes(status) &&
  body.access === undefined &&
  body.refresh === undefined &&
  body.access_token === undefined

/** The secrets of an application, each by the name of its kind. */
async function secretsOf({ secrets, shop, newCode }: Estate): Promise<Record<string, string>> {
  return {
    'access of a client': secrets.access,
    'refresh of a client': secrets.refresh,
    'ID token': secrets.idToken,
    'token for the API': secrets.apiToken,
    'device code': secrets.deviceCode,
    'user code': secrets.userCode,
    request_uri: secrets.requestUri,
    'token of a machine': secrets.machineToken,
    'secret of a client': shop.secret,
    code: (await newCode()).code,
  }
}

/** The endpoints of OpenID Connect, as the application of these secrets asks them. */
function clientPlaces({ url }: Pick<Service, 'url'>, { shop, tv, basic }: Estate): Record<string, Consumer> {
  const ask = async (path: string, init: RequestInit): Promise<Answer> => {
    const answer = await fetch(`${url}/oauth/${path}`, { redirect: 'manual', ...init })
    const text = await answer.text()
    return {
      status: answer.status,
      headers: answer.headers,
      body: text.startsWith('{') ? JSON.parse(text) : {},
    }
  }
  const post = (path: string, fields: Record<string, string>, Authorization = basic) =>
    ask(path, { method: 'POST', headers: { Authorization }, body: new URLSearchParams(fields) })
  /** An answer that knows nothing of the token is a refusal. */
  const unlessKnown = (answer: Answer) =>
    answer.status === 200 && !answer.body.active ? { ...answer, status: 400 } : answer
  const device = 'urn:ietf:params:oauth:grant-type:device_code'
  const code = { grant_type: 'authorization_code', redirect_uri: callback, code_verifier: 'x'.repeat(43) }
  return {
    'Bearer of userinfo': (token) =>
      ask('userinfo', { headers: { Authorization: `Bearer ${printable(token)}` } }),
    'introspection by its client': async (token) => unlessKnown(await post('introspect', { token })),
    'revocation by its client': async (token) => unlessKnown(await post('revoke', { token })),
    'exchange of a code': (value) => post('token', { ...code, code: value }),
    'refresh of a client': (token) => post('token', { grant_type: 'refresh_token', refresh_token: token }),
    'exchange of a device code': (value) =>
      ask('token', {
        method: 'POST',
        body: new URLSearchParams({ grant_type: device, device_code: value, client_id: tv.client.id }),
      }),
    'request that was pushed': (request_uri) =>
      ask(`authorize?${new URLSearchParams({ client_id: shop.client.id, request_uri })}`, {}),
    'secret of a client': (secret) =>
      post('introspect', { token: 'x' }, `Basic ${btoa(`${shop.client.id}:${printable(secret)}`)}`),
  }
}

function headerPlaces(service: Service, caller: Client): Record<string, Consumer> {
  const { call } = service
  const me = '/api/v1/users/me/'
  return {
    'Bearer of an API route': (token) => call('GET', me, { token: printable(token) }),
    'Bearer of a sign-in': (token) =>
      call('POST', '/api/v1/auth/otp/email/send/', { token: printable(token), body: {} }),
    'Bearer of an application': (token) =>
      call('GET', '/api/v1/application/events/', { token: printable(token) }),
    'cookie of the console': (value) =>
      call('GET', '/console/api/users/me/', {
        headers: { ...fromConsole, cookie: `bailiwick=${printable(value)}` },
      }),
    'cookie at the API': (value) =>
      call('GET', me, { headers: { ...fromConsole, cookie: `bailiwick=${printable(value)}` } }),
    'refresh of a switch': (refresh) =>
      caller.post('/api/v1/auth/switch-tenant/', { tenant_id: caller.tenantId, refresh }),
    'code of a session': (code) => caller.post('/api/v1/auth/otp/verify/', { code }),
  }
}

const printable = (text: string) => text.trim()

/** Every public route whose body has a token: new ones are found by their schema. */
function bodyPlaces(service: Service, { nonce = '' }: Record<string, string>): Record<string, Consumer> {
  const places: Record<string, Consumer> = {}
  const rest = { nonce, password: 'their own words', first_name: 'New', last_name: 'Person' }
  for (const route of routesOf(service)) {
    if (route.method !== 'POST' || route.access === 'token') continue
    const members = Object.keys(membersOf(route.body))
    const name = members.find((member) => ['token', 'refresh'].includes(member))
    if (!name) continue
    const others = Object.fromEntries(Object.entries(rest).filter(([member]) => members.includes(member)))
    places[nameOf(route)] = (secret) =>
      service.call('POST', `${route.path}/`, { body: { ...others, [name]: secret } })
  }
  return places
}
