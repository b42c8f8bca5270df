import { crc32 } from 'node:zlib'
import t from 'tap'
import type { Statement } from '../../../src/database/executor/flush.ts'
import { flushes } from '../../../src/database/executor/pool.ts'
import { makeKey, readKey } from '../../../src/identity/api-keys/key-text.ts'
import { eventsOf as loggedEventsOf, openDatabase } from '../../helpers/event-log.ts'
import { proveAddress } from '../../helpers/prove-address.ts'
import { startService } from '../../helpers/service.ts'
import { endSharedServices } from '../../helpers/shared-service.ts'
import { eventsOf, expect, foundFirm } from '../../tenancy/staff.ts'
import { codeAt, enrol, startBeside } from '../otp/authenticator.ts'
import { createOwnKey, createProgram, programOf } from './holders.ts'

await endSharedServices() // the tests count the statements of the whole process
const service = await startService(t, { env: { RATE_LIMIT_ENABLED: 'false' } })
const database = await openDatabase(t, service)
const own = '/api/v1/users/me/keys/'
const invalid = { status: 401, body: { code: 'token_not_valid' } }
const expired = { status: 401, body: { code: 'key_expired' } }

t.test('a key of a service account acts as the account, with its roles', async (t) => {
  const { owner, id: tenantId, path } = await foundFirm(service)
  const program = await createProgram(service, owner, ['admin'])
  t.match(program.key, /^bwk_[0-9A-Za-z]{71}$/)
  t.same(await expect(200, program.get('/api/v1/users/me/')), {
    id: program.accountId,
    type: 'service_account',
    name: 'Program',
    current_tenant: {
      id: tenantId,
      name: 'Firm',
      slug: (await owner.get(`${path}/`)).body.slug,
      status: 'active',
    },
    roles: ['admin'],
    permissions: (await expect(200, program.get('/api/v1/users/me/'))).permissions,
    key: { id: program.id, scopes: null, application_only: false },
  })
  const role = await expect(
    201,
    program.post(`${path}/roles/`, { name: 'Clerk', permissions: ['document:read'] }),
  )
  const [row] = (await expect(200, owner.get(`/api/v1/audit-log/?target_id=${role.id}`))).results
  t.match(row, {
    actor: { id: program.accountId, type: 'service_account', email: null },
    action: 'role:create',
  })
  const created = (await loggedEventsOf(database, tenantId)).find(
    ({ type }) => type === 'tenant.role_created',
  )
  t.equal(created?.actor_id, program.accountId)
  const denied = await program.post(`${path}/suspend/`)
  t.match(denied, { status: 403, body: { code: 'permission_denied' } })
  const decision = await expect(200, owner.get(`/api/v1/decisions/${denied.body.decision_id}/`))
  t.equal(decision.subject.id, program.accountId)
  const tenants = await expect(200, program.get('/api/v1/tenants/'))
  t.same([tenants.count, tenants.results[0].id, tenants.results[0].my_roles], [1, tenantId, ['admin']])
  t.match(await expect(200, program.get(`${path}/`)), { my_roles: ['admin'] })
})

t.test('a personal key acts as its person, in the tenant where it was made', async (t) => {
  const { owner, path, hire } = await foundFirm(service)
  const clerk = await hire('admin')
  const key = await createOwnKey(service, clerk)
  const me = await expect(200, key.get('/api/v1/users/me/'))
  t.match(me, { id: clerk.id, email: clerk.email, current_tenant: { name: 'Firm' }, key: { id: key.id } })
  t.equal((await expect(200, clerk.get('/api/v1/users/me/'))).key, null)
  for (const [scopes, application_only] of [
    [['invoice:read', 'note:*'], true],
    [['invoice:read', 'member:list'], false],
    [['role:*'], false],
  ] as const) {
    const scoped = await createOwnKey(service, clerk, { scopes })
    t.match((await expect(200, scoped.get('/api/v1/users/me/'))).key, { scopes, application_only })
  }
  t.equal(me.memberships.length, 1, 'only the tenant of the key')
  t.equal((await expect(200, key.get('/api/v1/tenants/'))).count, 1)
  t.match(
    await key.get(
      `/api/v1/tenants/${(await expect(200, clerk.get('/api/v1/users/me/'))).memberships.find(({ tenant }: { tenant: { name: string } }) => tenant.name !== 'Firm').tenant.id}/`,
    ),
    { status: 404 },
  )
  const { id } = await expect(201, key.post(`${path}/invitations/`, { email: 'guest@example.com' }))
  const [row] = (await expect(200, owner.get(`/api/v1/audit-log/?target_id=${id}`))).results
  t.match(row.actor, { id: clerk.id, type: 'user', email: clerk.email })
  t.same((await expect(200, clerk.get(own))).results[0].id, key.id)
  t.same((await expect(200, owner.get(own))).count, 0)
})

t.test(
  'a key is listed without its secret, revoked, and dead at the next request in every process',
  async (t) => {
    const { owner } = await foundFirm(service)
    const beside = await startBeside(t, service, {})
    const program = await createProgram(service, owner, ['auditor'])
    const list = await expect(200, owner.get(program.keys))
    t.match(list.results, [
      { id: program.id, name: 'First', scopes: null, last_used_at: null, successor_id: null },
    ])
    t.ok(program.key.startsWith(list.results[0].prefix))
    t.notMatch(JSON.stringify(list), program.key.slice(30))
    const elsewhere = () => service.call('GET', `${beside}/api/v1/policies/`, { token: program.key })
    t.equal((await program.get('/api/v1/policies/')).status, 200)
    t.equal((await elsewhere()).status, 200)
    await expect(204, owner.delete(`${program.keys}${program.id}/`))
    t.match(await program.get('/api/v1/policies/'), invalid)
    t.match(await elsewhere(), invalid)
    t.same((await expect(200, owner.get(program.keys))).results, [])
    t.equal((await owner.delete(`${program.keys}${program.id}/`)).status, 404)
    t.same(await eventsOf(service, owner.tenantId, 'identity.api_key_'), [
      'identity.api_key_created',
      'identity.api_key_revoked',
    ])
  },
)

t.test('a key is replaced with an overlap, and past its time it says so', async (t) => {
  const owner = await service.signUp()
  const old = await createOwnKey(service, owner, { expires_in: 7_200, scopes: ['member:list'] })
  const rotate = (id: string, body: object = {}) => owner.post(`${own}${id}/rotate/`, body)
  const made = await expect(201, rotate(old.id, { overlap: 60 }))
  t.match(made, { name: 'Laptop', scopes: ['member:list'] })
  t.equal(Date.parse(made.expires_at) - Date.parse(made.created_at), 7_200_000)
  const fresh = programOf(service, made)
  t.match(await rotate(old.id), { status: 409, body: { code: 'invalid_state', current_state: 'rotated' } })
  t.equal((await old.get('/api/v1/users/me/')).status, 200)
  t.equal((await fresh.get('/api/v1/users/me/')).status, 200)
  service.advance(60_000)
  t.match(await old.get('/api/v1/users/me/'), expired)
  t.equal((await fresh.get('/api/v1/users/me/')).status, 200)
  const last = await createOwnKey(service, owner, { expires_in: 30 })
  const { expires_at } = (await expect(200, owner.get(own))).results.find(
    ({ id }: { id: string }) => id === last.id,
  )
  await expect(201, rotate(last.id, { overlap: 86_400 }))
  const [, same] = (await expect(200, owner.get(own))).results.slice(-2)
  t.ok(same, 'the successor is listed')
  t.equal(
    (await expect(200, owner.get(own))).results.find(({ id }: { id: string }) => id === last.id).expires_at,
    expires_at,
  )
  service.advance(30_000)
  t.match(await rotate(last.id), { status: 409 })
})

t.test('making a key takes a fresh sign-in, and a holder has ten live ones at most', async (t) => {
  const owner = await service.signUp()
  for (let made = 0; made < 10; made++) await createOwnKey(service, owner)
  t.match(await owner.post(own, { name: 'Eleventh' }), { status: 409, body: { code: 'limit_reached' } })
  const [first] = (await expect(200, owner.get(own))).results
  await expect(201, owner.post(`${own}${first.id}/rotate/`))
  await expect(204, owner.delete(`${own}${first.id}/`))
  service.advance(601_000)
  t.match(await owner.post(own, { name: 'Late' }), {
    status: 401,
    body: { code: 'insufficient_user_authentication' },
  })
  const [, second] = (await expect(200, owner.get(own))).results
  t.equal((await owner.post(`${own}${second.id}/rotate/`)).status, 401)
  await expect(204, owner.delete(`${own}${second.id}/`))
  t.match(await owner.post(own, { name: 'Late', current_password: 'wrong password' }), { status: 400 })
  await expect(201, owner.post(own, { name: 'Late', current_password: owner.password }))
})

t.test('with a second factor, a key takes one of the last 10 minutes, and the answer says so', async (t) => {
  const owner = await service.signUp()
  const { secret } = await enrol(service, owner)
  const make = () => owner.post(own, { name: 'Late', current_password: owner.password })
  const refused = (detail: RegExp) => ({
    status: 401,
    body: { code: 'insufficient_user_authentication', acr_values: 'aal2', detail },
  })
  await expect(201, make())
  service.advance(601_000)
  t.match(
    await make(),
    refused(/older than 10 minutes\. Show one again: POST \/api\/v1\/auth\/otp\/verify\/\.$/),
  )
  const code = codeAt(secret, service.now())
  const shown = await expect(200, owner.post('/api/v1/auth/otp/verify/', { code }))
  t.notOk('access' in shown, 'the token that showed it counts')
  await expect(201, make())
})

t.test('bad input is refused by the name of its field', async (t) => {
  const owner = await service.signUp()
  const refused = async (body: object, field: string) =>
    t.match(await owner.post(own, body), { status: 400, body: { errors: [{ field }] } }, JSON.stringify(body))
  await refused({}, 'name')
  await refused({ name: 'A', expires_in: 0 }, 'expires_in')
  await refused({ name: 'A', expires_in: 31_536_001 }, 'expires_in')
  await refused({ name: 'A', expires_in: 1.5 }, 'expires_in')
  await refused({ name: 'A', scopes: [] }, 'scopes')
  await refused({ name: 'A', scopes: ['nonsense'] }, 'scopes.0')
  await refused({ name: 'A', scopes: ['tenant:explode'] }, 'scopes.0')
  const { id } = await createOwnKey(service, owner)
  for (const overlap of [-1, 86_401, 'long'])
    t.match(await owner.post(`${own}${id}/rotate/`, { overlap }), { status: 400 })
  t.match(await service.call('POST', '/api/v1/keys/revoke/', { body: {} }), { status: 400 })
})

/**
 * What a service sends from time to time: it reads signing keys, and counts decisions and uses of keys. The commit of such a
 * transaction can be a flush of its own; one that begins during `work` shows by its first statement.
 */
const ofTimers = /from signing_keys|into daily_counts|update api_keys k set last_used_at|^commit$/

/** The flushes during `work`, without those of timers. */
async function flushesDuring(work: () => Promise<unknown>): Promise<string[]> {
  const seen: string[] = []
  const note = (statements: unknown) => {
    const text = (statements as Statement[]).map(({ text }) => text).join('; ')
    if (!ofTimers.test(text)) seen.push(text)
  }
  flushes.subscribe(note)
  await work()
  flushes.unsubscribe(note)
  return seen
}

t.test('what is no key is refused before the database is asked', async (t) => {
  const owner = await service.signUp()
  const { key } = await createOwnKey(service, owner)
  const refuse = async (token: string) =>
    t.match(await service.call('GET', '/api/v1/users/me/', { token }), invalid, token)
  const swapped = `${key.slice(0, 40)}${key[40] === 'a' ? 'b' : 'a'}${key.slice(41)}`
  const junk = [swapped, `${key}0`, key.slice(0, -1), 'bwk_', `bwk_${'0'.repeat(71)}`, key.toLowerCase()]
  for (const token of junk) t.same(await flushesDuring(() => refuse(token)), [])
  const unknown = makeKey('019a1b2c-3d4e-7f50-8a6b-7c8d9e0f1a2b').key
  t.equal((await flushesDuring(() => refuse(unknown))).length, 1, 'a well-formed key is looked up')
  // A right checksum over the id of a real key and another secret.
  const body = `${key.slice(0, 26)}${unknown.slice(26, 69)}`
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  let [rest, sum] = [crc32(body), '']
  for (; rest > 0; rest = Math.floor(rest / 62)) sum = digits[rest % 62] + sum
  const forged = body + sum.padStart(6, '0')
  t.ok(readKey(forged))
  await refuse(forged)
})

t.test(
  'a request with a key reads in one round trip and writes nothing; its use is told to the minute',
  async (t) => {
    const { owner } = await foundFirm(service)
    const program = await createProgram(service, owner, ['auditor'])
    await expect(200, program.get('/api/v1/policies/'))
    await Promise.all([service.deps.apiKeys.flush(), service.deps.decisionLog.flush()])
    const seen = await flushesDuring(() => program.get('/api/v1/policies/'))
    t.equal(seen.length, 1)
    t.notMatch(seen.join(), /(^|; )\s*(update|insert)/i)
    const used = async () => (await expect(200, owner.get(program.keys))).results[0].last_used_at
    const before = await used()
    t.match(before, /:00\.000Z$/)
    service.advance(61_000)
    await expect(200, program.get('/api/v1/policies/'))
    t.equal(await used(), before)
    await service.deps.apiKeys.flush()
    t.equal(Date.parse(await used()) - Date.parse(before) >= 60_000, true)
    t.match(await expect(200, owner.get(`/api/v1/service-accounts/${program.accountId}/`)), {
      last_used_at: await used(),
    })
  },
)

t.test('a caller who finds a key can end it; owners and its person are told', async (t) => {
  const { owner, hire } = await foundFirm(service)
  const clerk = await hire('member')
  await proveAddress(service, owner, clerk)
  const key = await createOwnKey(service, clerk)
  t.match(await service.mailTo(clerk.email, 'API key'), { text: /“Laptop” was created/ })
  const report = (text: string) => service.call('POST', '/api/v1/keys/revoke/', { body: { key: text } })
  for (const text of ['nothing', key.key.slice(0, -1), makeKey(owner.id).key])
    t.match(await report(text), { status: 204, body: null })
  t.equal((await key.get('/api/v1/users/me/')).status, 200)
  t.match(await report(key.key), { status: 204, body: null })
  t.match(await key.get('/api/v1/users/me/'), invalid)
  t.match(await report(key.key), { status: 204, body: null }, 'again')
  const about = new RegExp(`begins with ${key.key.slice(0, 26)} and no longer works`)
  t.match(await service.mailTo(owner.email, 'found and revoked'), { text: about })
  const told = await service.mailTo(clerk.email, 'found and revoked')
  t.match(told, { text: about })
  t.notMatch(told.text, key.key.slice(26))
  const [row] = (await expect(200, owner.get('/api/v1/audit-log/?action=api_key:revoke'))).results
  t.match(row, { actor: { type: 'system' }, target: { type: 'api_key', id: key.id } })
})
