import { randomUUID } from 'node:crypto'
import t from 'tap'
import { sharedService } from '../../helpers/shared-service.ts'
import { eventsOf, expect, foundFirm } from '../staff.ts'

const service = await sharedService(t, { workers: false })
const events = async (id: string) => (await eventsOf(service, id, 'tenant.tenant_')).slice(1)

t.test(
  'a tenant is changed key by key, with one event per change and none when nothing changes',
  async (t) => {
    const { owner, path, id } = await foundFirm(service)
    const change = { name: ' New name ', settings: { require_mfa: true } }
    const first = await expect(200, owner.put(`${path}/`, change))
    t.match(first, { name: 'New name', settings: { require_mfa: true, allowed_email_domains: [] } })
    service.advance(1000)
    const same = await expect(200, owner.patch(`${path}/`, change))
    t.equal(same.updated_at, first.updated_at)
    const domains = {
      settings: { allowed_email_domains: ['Example.com', 'example.com.', 'other.example.org'] },
    }
    const second = await expect(200, owner.patch(`${path}/`, domains))
    t.same(second.settings, {
      require_mfa: true,
      sso: 'off',
      time_zone: 'UTC',
      subject_id: 'id',
      allowed_email_domains: ['example.com', 'other.example.org'],
      branding: { logo: null },
    })
    await expect(200, owner.put(`${path}/`, {}))
    await expect(200, owner.put(`${path}/`, { slug: 'another', id: randomUUID(), status: 'archived' }))
    t.match(await owner.get(`${path}/`), { body: { slug: first.slug, id, status: 'active' } })
    t.same(await events(id), ['tenant.tenant_updated', 'tenant.tenant_updated'])
  },
)

t.test('invalid values are refused by field', async (t) => {
  const { owner, path } = await foundFirm(service)
  const cases: [unknown, string][] = [
    [{ name: '' }, 'name'],
    [{ name: null }, 'name'],
    [{ name: 'x'.repeat(121) }, 'name'],
    [{ name: 'a\0b' }, ''],
    [{ settings: null }, 'settings'],
    [{ settings: [] }, 'settings'],
    [{ settings: { require_mfa: 'true' } }, 'settings.require_mfa'],
    [{ settings: { require_mfa: null } }, 'settings.require_mfa'],
    [{ settings: { time_zone: 'Mars/Olympus' } }, 'settings.time_zone'],
    [{ settings: { time_zone: '+01:00' } }, 'settings.time_zone'],
    [{ settings: { time_zone: '' } }, 'settings.time_zone'],
    [{ settings: { allowed_email_domains: 'example.com' } }, 'settings.allowed_email_domains'],
    [{ settings: { allowed_email_domains: ['nodot'] } }, 'settings.allowed_email_domains.0'],
    [
      { settings: { allowed_email_domains: ['a.example', '*.example.com'] } },
      'settings.allowed_email_domains.1',
    ],
    [{ settings: { allowed_email_domains: ['10.0.0.1'] } }, 'settings.allowed_email_domains.0'],
  ]
  for (const [body, field] of cases) {
    const answer = await owner.put(`${path}/`, body)
    t.equal(answer.status, 400, JSON.stringify(body))
    if (field) t.equal(answer.body.errors[0].field, field)
  }
  t.match(await owner.post('/api/v1/tenants/', { name: 'x', slug: 'A b' }), { status: 400 })
  const { slug } = (await owner.get(`${path}/`)).body
  t.match(await owner.post('/api/v1/tenants/', { name: 'x', slug }), {
    status: 409,
    body: { code: 'slug_taken' },
  })
})

t.test('every status change gets the answer that the API documents', async (t) => {
  const { owner, path, id } = await foundFirm(service)
  const move = (name: string) => owner.post(`${path}/${name}/`)
  const walk: [string, number, string][] = [
    ['activate', 200, 'active'],
    ['suspend', 200, 'suspended'],
    ['suspend', 200, 'suspended'],
    ['activate', 200, 'active'],
    ['suspend', 200, 'suspended'],
    ['archive', 200, 'archived'],
    ['archive', 200, 'archived'],
    ['suspend', 409, 'archived'],
    ['activate', 200, 'active'],
    ['archive', 200, 'archived'],
  ]
  for (const [name, status, state] of walk) {
    service.advance(1000)
    const answer = await move(name)
    t.equal(answer.status, status, name)
    if (status === 409) t.match(answer.body, { code: 'invalid_state', current_state: state })
    else t.match(answer.body, { status: state, is_active: state === 'active' })
    if (state === 'active') t.match(answer.body, { suspended_at: null, archived_at: null })
  }
  t.same(
    (await events(id)).map((type) => type.replace('tenant.tenant_', '')),
    ['suspended', 'activated', 'suspended', 'archived', 'activated', 'archived'],
  )
})

t.test('of twenty concurrent suspensions all succeed, and one event is recorded', async (t) => {
  const { owner, path, id } = await foundFirm(service)
  const answers = await Promise.all(Array.from({ length: 20 }, () => owner.post(`${path}/suspend/`)))
  t.ok(answers.every((answer) => answer.status === 200))
  t.same(await events(id), ['tenant.tenant_suspended'])
})

t.test('a deleted tenant is gone for all, and deleting it again is a 404', async (t) => {
  const { owner, path, id, hire } = await foundFirm(service)
  const member = await hire('member')
  await expect(200, owner.post(`${path}/archive/`))
  const [first, second] = await Promise.all([owner.delete(`${path}/`), owner.delete(`${path}/`)])
  t.same([first.status, second.status].sort(), [204, 404])
  for (const person of [owner, member]) {
    t.match(await person.get(`${path}/`), { status: 404, body: { code: 'not_found' } })
    t.match(await person.get(`${path}/members/`), { status: 403, body: { code: 'no_active_membership' } })
    t.match(await person.get('/api/v1/users/me/'), { status: 403, body: { code: 'no_active_membership' } })
    const listed = await expect(200, person.get('/api/v1/tenants/'))
    t.notOk(listed.results.some((tenant: { id: string }) => tenant.id === id))
  }
  t.equal((await owner.delete(`${path}/`)).status, 404)
  t.equal((await owner.post(`${path}/activate/`)).status, 404)
  t.same(await events(id), ['tenant.tenant_archived', 'tenant.tenant_deleted'])
  await service.logIn(member)
})

for (const [state, move] of [
  ['suspended', 'suspend'],
  ['archived', 'archive'],
] as const) {
  t.test(`which requests a ${state} tenant still accepts`, async (t) => {
    const { owner, path, id, hire } = await foundFirm(service)
    const admin = await hire('admin')
    const code = `tenant_${state}`
    await expect(200, owner.post(`${path}/${move}/`))

    for (const person of [owner, admin]) {
      t.match(await person.get('/api/v1/users/'), { status: 403, body: { code } })
      t.match(await person.get(`${path}/members/`), { status: 403, body: { code } })
      t.match(await person.post(`${path}/roles/`, { name: 'x' }), { status: 403, body: { code } })
      t.match(await person.patch(`${path}/`, { name: 'x' }), { status: 403, body: { code } })
      t.match(await person.get(`${path}/`), { status: 200, body: { status: state } })
      t.equal((await person.get('/api/v1/tenants/')).status, 200)
      t.equal((await person.post('/api/v1/tenants/', { name: 'Elsewhere' })).status, 201)
    }
    t.match(await admin.post(`${path}/activate/`), { status: 403, body: { code: 'permission_denied' } })
    t.match(await admin.post('/api/v1/auth/refresh/', { refresh: admin.refresh }), {
      status: 403,
      body: { code },
    })
    t.match(await admin.post('/api/v1/auth/switch-tenant/', { tenant_id: id }), {
      status: 403,
      body: { code },
    })
    const { email, password } = admin
    const login = { body: { email, password, tenant_id: id } }
    t.match(await service.call('POST', '/api/v1/auth/login/', login), { status: 403, body: { code } })
    t.not((await service.logIn(admin)).tenantId, id, 'a login without a tenant enters the next one')

    t.equal((await owner.post('/api/v1/auth/refresh/', { refresh: owner.refresh })).status, 200)
    t.equal((await owner.post('/api/v1/auth/switch-tenant/', { tenant_id: id })).status, 200)
    t.match(await owner.post(`${path}/activate/`), { status: 200, body: { status: 'active' } })
    t.equal((await admin.get(`${path}/members/`)).status, 200, 'earlier tokens work again')
    await expect(200, owner.post(`${path}/${move}/`))
    t.equal((await owner.delete(`${path}/`)).status, 204, 'and it can be deleted while closed')
  })
}

t.test('the tenant of the path decides, not that of the token', async (t) => {
  const { owner, path } = await foundFirm(service)
  const personal = (await expect(200, owner.get('/api/v1/tenants/'))).results[0].id
  await owner.switchTo(personal)
  t.match(await owner.put(`${path}/`, { name: 'From afar' }), { status: 200, body: { name: 'From afar' } })
  await expect(200, owner.post(`/api/v1/tenants/${personal}/suspend/`))
  t.match(await owner.post(`${path}/suspend/`), { status: 200 }, 'also with a token of a closed tenant')
})
