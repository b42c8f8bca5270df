import { crc32 } from 'node:zlib'
import type { Route } from '../../src/request/route.ts'
import type { Answer, Client, Service } from '../helpers/service.ts'
import { changeRows } from '../identity/otp/authenticator.ts'
import { expect } from '../tenancy/staff.ts'
import { type Attack, type Tally, unauthorized } from './attack.ts'
import { decidedRoutes, nameOf, ownIds, visit } from './route-addresses.ts'

/** What a key and an impersonation never do, by path: written by hand from the documented rules. */
const closed =
  /\/(auth\/|console\/|users\/me\/keys|keys\b)|\/invitations\/accept|\/(approve|reject|impersonate)$/

/** Routes about the account of a person, which only a session of that person may use. */
export const takesSession = ({ method, path }: Pick<Route, 'method' | 'path'>): boolean =>
  closed.test(path) ||
  (path === '/api/v1/users/me' && method !== 'GET') ||
  (path === '/api/v1/tenants' && method === 'POST')

export const keys: Attack = {
  name: 'keys',
  about: 'API keys at routes that are closed to them, altered, revoked, past their time, beyond their scopes',
  async run(stage, tally) {
    const service = await stage.shared()
    const ada = await service.signUp()
    const made = await make(ada, {})
    await atClosedRoutes(tally, service, ada, made.key)
    await altered(tally, service, made.key)
    await beyondScopes(tally, service, ada)
    await ended(tally, service, ada)
  },
}

const own = '/api/v1/users/me/keys/'
const make = (ada: Client, more: object) => expect(201, ada.post(own, { name: 'Attacked', ...more }))
const use = (service: Service, token: string) => () => service.call('GET', '/api/v1/users/me/', { token })
const isNotAllowed = ({ status, body }: Answer) => status === 403 && body.code === 'key_not_allowed'

async function atClosedRoutes(tally: Tally, service: Service, ada: Client, key: string) {
  const { status } = await use(service, key)()
  tally.check(status === 200, `the key itself works (${status})`)
  for (const route of decidedRoutes(service).filter(takesSession))
    await tally.refuse(
      `a key: ${nameOf(route)}`,
      () => visit(service, route, key, ...ownIds(route, ada)),
      isNotAllowed,
    )
}

/** The CRC-32 in base 62, as docs/how-to/api-keys.md describes it. */
function checksumOf(text: string): string {
  let sum = crc32(text)
  let written = ''
  for (let place = 0; place < 6; place++, sum = Math.floor(sum / 62)) written = base62[sum % 62] + written
  return written
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Every character of a key counts: most changes are noticed by its checksum, all of them by its hash. */
async function altered(tally: Tally, service: Service, key: string) {
  const other = (letter: string) => (letter === 'A' ? 'B' : 'A')
  for (let at = 4; at < key.length; at += 5)
    await tally.refuse(
      `a key with another character ${at}`,
      use(service, `${key.slice(0, at)}${other(key[at]!)}${key.slice(at + 1)}`),
      unauthorized('token_not_valid'),
    )
  const wrong = `${key.slice(0, 40)}${other(key[40]!)}${key.slice(41, -6)}`
  const right = checksumOf(wrong)
  await tally.refuse(
    'a changed key with its checksum',
    use(service, wrong + right),
    unauthorized('token_not_valid'),
  )
  for (const text of [key.slice(0, -1), `${key}0`, key.toLowerCase(), 'bwk_', `bwk_${'z'.repeat(71)}`])
    await tally.refuse('a text that is like a key', use(service, text), unauthorized('token_not_valid'))
}

async function beyondScopes(tally: Tally, service: Service, ada: Client) {
  const { key } = await make(ada, { scopes: ['role:list'] })
  const call = (method: string, path: string, body?: object) => () =>
    service.call(method, `/api/v1/${path}`, { token: key, body })
  const { status } = await call('GET', `tenants/${ada.tenantId}/roles/`)()
  tally.check(status === 200, `a key does what its scopes name (${status})`)
  const isDenied = ({ status, body }: Answer) => status === 403 && body.code === 'permission_denied'
  for (const [method, path, body] of [
    ['GET', 'policies/', undefined],
    ['GET', 'webhooks/', undefined],
    ['POST', `tenants/${ada.tenantId}/roles/`, { name: 'Mine', permissions: [] }],
    ['DELETE', `tenants/${ada.tenantId}/`, undefined],
  ] as const)
    await tally.refuse(`a key beyond its scopes: ${method} ${path}`, call(method, path, body), isDenied)
  const elsewhere = await service.signUp()
  await tally.refuse('a key in another tenant', call('GET', `tenants/${elsewhere.tenantId}/`), [403, 404])
}

async function ended(tally: Tally, service: Service, ada: Client) {
  const [revoked, late] = [await make(ada, {}), await make(ada, { expires_in: 3_600 })]
  await expect(204, ada.delete(`${own}${revoked.id}/`))
  await tally.refuse('a revoked key', use(service, revoked.key), unauthorized('token_not_valid'))
  const leaked = await make(ada, {})
  await expect(204, service.call('POST', '/api/v1/keys/revoke/', { body: { key: leaked.key } }))
  await tally.refuse('a key that was reported', use(service, leaked.key), unauthorized('token_not_valid'))
  service.advance(3_600_001)
  await tally.refuse('a key past its time', use(service, late.key), unauthorized('key_expired'))
  const again = await service.logIn(ada)
  const { key } = await make(again, {})
  await changeRows(service, `update users set is_active = false where id = '${ada.id}'`)
  await tally.refuse('the key of a deactivated person', use(service, key), [401])
}
