import { randomUUID } from 'node:crypto'
import t from 'tap'
import { checkDomains } from '../../../src/tenancy/domains/check-domains.ts'
import { colleague } from '../../helpers/colleague.ts'
import { eventsOf, openDatabase } from '../../helpers/event-log.ts'
import { proveAddress } from '../../helpers/prove-address.ts'
import { query } from '../../helpers/query.ts'
import { type Client, type Json, startService } from '../../helpers/service.ts'
import { startDns } from './dns-server.ts'

const [one, two] = [await startDns(t), await startDns(t)]
const service = await startService(t, { env: { DNS_RESOLVERS: `${one.address},${two.address}` } })
const database = await openDatabase(t, service)
const at = '/api/v1/domains/'
const day = 24 * 3_600_000

const claim = async (owner: Client, domain: string, more: object = {}): Promise<Json> => {
  const { status, body } = await owner.post(at, { domain, ...more })
  if (status !== 201) throw new Error(JSON.stringify(body))
  return body
}
const publish = ({ record: { name, value } }: Json, servers = [one, two]) => {
  for (const { records } of servers) records.set(name, ['v=spf1 -all', value])
}
const unpublish = ({ record: { name } }: Json) => [one, two].map(({ records }) => records.delete(name))
const verify = (owner: Client, { id }: Json) => owner.post(`${at}${id}/verify/`)
const verified = async (owner: Client, domain: string, more: object = {}): Promise<Json> => {
  const claimed = await claim(owner, domain, more)
  publish(claimed)
  const { status, body } = await verify(owner, claimed)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body
}
const check = () =>
  checkDomains({ worker: service.worker!.db, service: service.worker!.service }, service.now())
/** A domain as its owner reads it after a new login: the clock moves by days. */
const later = async (owner: Client, { id }: Json): Promise<Json> => {
  Object.assign(owner, await service.logIn(owner))
  return (await owner.get(`${at}${id}/`)).body
}
const statusOf = async (owner: Client, domain: Json) => (await later(owner, domain)).status
const domainEvents = async (owner: Client) =>
  (await eventsOf(database, owner.tenantId))
    .filter(({ type }) => type.startsWith('tenant.domain_'))
    .map(({ type }) => type)

t.test('a domain is claimed, verified by its record, changed and given up', async (t) => {
  const owner = await service.signUp()
  const claimed = await claim(owner, ' Firm.Example. ')
  t.match(claimed, {
    domain: 'firm.example',
    status: 'pending',
    record: { type: 'TXT', name: '_bailiwick.firm.example', value: /^bailiwick-verification=[0-9a-f]{40}$/ },
    route: 'always',
    subdomains: false,
    verified_at: null,
    missing_since: null,
  })
  t.match(await verify(owner, claimed), {
    status: 409,
    body: { code: 'invalid_state', current_state: 'pending' },
  })
  publish(claimed)
  const done = (await verify(owner, claimed)).body
  t.match(done, { status: 'verified', verified_at: String })
  t.same((await owner.get(at)).body.results, [done])
  const changed = await owner.patch(`${at}${done.id}/`, { route: 'never', subdomains: true })
  t.match(changed, { status: 200, body: { route: 'never', subdomains: true, status: 'verified' } })
  t.equal((await owner.delete(`${at}${done.id}/`)).status, 204)
  t.equal((await owner.get(`${at}${done.id}/`)).status, 404)
  t.same(await domainEvents(owner), ['tenant.domain_verified', 'tenant.domain_lost'])
})

t.test('both servers must have the record, with this very value', async (t) => {
  const owner = await service.signUp()
  const claimed = await claim(owner, 'forged.example')
  publish(claimed, [one])
  t.equal((await verify(owner, claimed)).status, 409, 'one of them was deceived')
  publish({ record: { ...claimed.record, value: `${claimed.record.value}0` } }, [two])
  t.equal((await verify(owner, claimed)).status, 409, 'the other has another value')
  publish(claimed)
  two.isBroken = true
  t.equal((await verify(owner, claimed)).status, 409, 'one of them fails')
  two.isBroken = false
  t.equal((await verify(owner, claimed)).status, 200)
})

t.test('a domain has one owner, and a claim hinders no one', async (t) => {
  const [first, second] = [await service.signUp(), await service.signUp()]
  const [mine, theirs] = [await claim(first, 'race.example'), await claim(second, 'race.example')]
  t.not(mine.record.value, theirs.record.value)
  for (const { records } of [one, two])
    records.set(mine.record.name, [mine.record.value, theirs.record.value])
  const answers = await Promise.all([verify(first, mine), verify(second, theirs)])
  t.same(answers.map(({ status }) => status).sort(), [200, 409])
  const taken = { status: 409, body: { code: 'domain_taken' } }
  t.match(
    answers.find(({ status }) => status === 409),
    taken,
  )
  t.match(await (await service.signUp()).post(at, { domain: 'race.example' }), taken)
  const winner = answers[0].status === 200 ? first : second
  t.match(await winner.post(at, { domain: 'RACE.example' }), { status: 409, body: { code: 'name_taken' } })
})

t.test('domains of many organisations, and what is no domain, are refused', async (t) => {
  const owner = await service.signUp()
  for (const domain of [
    'com',
    'co.uk',
    'github.io',
    'gmail.com',
    '127.0.0.1',
    'a b.example',
    '',
    'x_y.example',
    `${'a'.repeat(64)}.example`,
  ])
    t.match(
      await owner.post(at, { domain }),
      { status: 400, body: { errors: [{ field: 'domain' }] } },
      domain,
    )
  t.match(await claim(owner, 'Bücher.example'), { domain: 'xn--bcher-kva.example' })
  t.match(await owner.post(at, { domain: 'xn--bcher-kva.example' }), { status: 409 })
})

t.test('owners verify, admins claim and change, auditors read, members do nothing', async (t) => {
  const owner = await service.signUp()
  const [admin, auditor, member] = [
    await colleague(service, owner, 'admin'),
    await colleague(service, owner, 'auditor'),
    await colleague(service, owner),
  ]
  const claimed = await claim(admin, 'staff.example')
  publish(claimed)
  t.equal((await verify(admin, claimed)).status, 403)
  t.equal((await auditor.get(at)).status, 200)
  t.equal((await auditor.patch(`${at}${claimed.id}/`, { route: 'never' })).status, 403)
  t.equal((await member.get(at)).status, 403)
  t.equal((await verify(owner, claimed)).status, 200)
  const stranger = await service.signUp()
  for (const path of ['', 'loans/']) t.equal((await stranger.get(`${at}${claimed.id}/${path}`)).status, 404)
  t.equal((await verify(stranger, claimed)).status, 404)
})

t.test('a domain is lent to tenants that exist, and only the owner sees that', async (t) => {
  const [owner, borrower] = [await service.signUp(), await service.signUp()]
  const domain = await verified(owner, 'lent.example')
  const loans = `${at}${domain.id}/loans/`
  t.match(await owner.post(loans, { tenant: borrower.tenantId }), {
    status: 201,
    body: { tenant: borrower.tenantId },
  })
  t.equal((await owner.post(loans, { tenant: borrower.tenantId })).status, 201, 'once more changes nothing')
  t.same((await owner.get(loans)).body, { results: [{ tenant: borrower.tenantId }] })
  for (const tenant of [owner.tenantId, randomUUID(), 'x'])
    t.match(await owner.post(loans, { tenant }), { status: 400, body: { errors: [{ field: 'tenant' }] } })
  t.same((await borrower.get(at)).body.results, [])
  t.equal((await owner.delete(`${loans}${borrower.tenantId}/`)).status, 204)
  t.equal((await owner.delete(`${loans}${borrower.tenantId}/`)).status, 404)
  t.same((await owner.get(loans)).body, { results: [] })
})

t.test('a tenant has at most 100 domains', async (t) => {
  const owner = await service.signUp()
  await claim(owner, 'first.example')
  await query(
    service.databases.superuser,
    `insert into domains (tenant_id, id, domain, status, record_value, route, subdomains, created_by, created_at, updated_at)
     select tenant_id, gen_random_uuid(), n || '.first.example', 'pending', '', 'never', false, created_by, created_at, updated_at
     from domains, generate_series(1, 99) n where domain = 'first.example'`,
  )
  t.match(await owner.post(at, { domain: 'next.example' }), { status: 409, body: { code: 'limit_reached' } })
})

t.test('records are looked for daily, and a domain is lost after 14 days without', async (t) => {
  const owner = await service.signUp()
  await proveAddress(service, owner)
  const [kept, gone] = [await verified(owner, 'kept.example'), await verified(owner, 'gone.example')]
  t.same(await check(), { checked: 0, lost: 0 }, 'just verified')
  service.advance(day)
  unpublish(gone)
  await check()
  t.same([await statusOf(owner, kept), await statusOf(owner, gone)], ['verified', 'verified'])
  t.match(await later(owner, gone), { missing_since: String })
  t.equal((await check()).checked, 0, 'not again on this day')
  service.advance(day)
  publish(gone)
  await check()
  t.match(await later(owner, gone), { missing_since: null }, 'it is back')
  unpublish(gone)
  for (let n = 0; n < 14; n++) {
    service.advance(day)
    await check()
    t.equal(await statusOf(owner, gone), 'verified', `day ${n}`)
  }
  service.advance(day)
  t.equal((await check()).lost, 1)
  t.same([await statusOf(owner, kept), await statusOf(owner, gone)], ['verified', 'lost'])
  t.same(await domainEvents(owner), [
    'tenant.domain_verified',
    'tenant.domain_verified',
    'tenant.domain_lost',
  ])
  t.match(await service.mailTo(owner.email, 'gone.example'), { subject: String })

  const other = await service.signUp()
  await verified(other, 'gone.example')
  publish(gone)
  t.match(
    await verify(owner, gone),
    { status: 409, body: { code: 'domain_taken' } },
    'another tenant has it now',
  )
})

t.test('a deleted tenant keeps no domain from others', async (t) => {
  const [owner, other] = [await service.signUp(), await service.signUp()]
  await verified(owner, 'old.example')
  t.equal((await owner.delete(`/api/v1/tenants/${owner.tenantId}/`)).status, 204)
  service.advance(day)
  await check()
  await verified(await service.logIn(other), 'old.example')
})
