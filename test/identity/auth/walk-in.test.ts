import t from 'tap'
import { claimsOf, startService, tokenIn } from '../../helpers/service.ts'
import { look } from '../../tenancy/staff.ts'

t.test('a new person', async (t) => {
  const service = await startService(t, { hashing: {} })
  const ada = await service.signUp({ email: ' Ada@Example.com ', first_name: 'Ada' })

  t.test('is logged in to a tenant of their own', async (t) => {
    const claims = claimsOf(ada.access)
    t.match(claims, {
      user_id: ada.id,
      email: 'ada@example.com',
      roles: ['owner'],
      token_type: 'access',
      acr: 'aal1',
    })
    const me = await ada.get('/api/v1/users/me/')
    t.equal(me.status, 200)
    t.match(me.body, {
      email: 'ada@example.com',
      email_verified: false,
      current_tenant: { id: claims.tenant_id },
    })
  })

  t.test('has a password that is stored as argon2id at the recommended cost', async (t) => {
    const [{ password_hash: hash }] = await look(service, 'select password_hash from users where id = $1', [
      ada.id,
    ])
    t.match(hash, /^\$argon2id\$v=19\$m=19456,(p=1,t=2|t=2,p=1)\$/)
  })

  t.test('verifies their address with the token from the mail, once', async (t) => {
    const token = tokenIn(await service.mailTo('ada@example.com', 'Confirm'))
    const confirm = () => service.call('POST', '/api/v1/auth/email/verify/confirm/', { body: { token } })
    t.match(await confirm(), { status: 200, body: { message: 'Email verified' } })
    t.match(await confirm(), { status: 400, body: { code: 'token_invalid' } })
    t.match((await ada.get('/api/v1/users/me/')).body, { email_verified: true })
  })

  t.test('creates a tenant, switches to it, and sees the new claims', async (t) => {
    const { body: tenant } = await ada.post('/api/v1/tenants/', { name: 'Analytical Engines' })
    t.match(tenant, { slug: 'analytical-engines', my_roles: ['owner'], member_count: 1 })
    await ada.switchTo(tenant.id)
    t.equal(claimsOf(ada.access).tenant_id, tenant.id)
  })
})
