import t from 'tap'
import { type Client, claimsOf, startService, tokenIn } from '../../helpers/service.ts'
import { expect, look } from '../../tenancy/staff.ts'
import { attemptLogin, longProven } from '../otp/authenticator.ts'

// What a thief with the password leaves behind: an account without a tenant, whose tenant of the day is used up.

const service = await startService(t, { env: { MAGIC_LINK_ENABLED: 'true' } })
const post = (path: string, body: unknown) => service.call('POST', `/api/v1/auth/${path}/`, { body })
const password = 'another quiet harbour'
const count = async (table: string) => (await look(service, `select from ${table}`)).length

type Leave = (thief: Client) => Promise<unknown>
const deletes: Leave = (thief) => expect(204, thief.delete(`/api/v1/tenants/${thief.tenantId}/`))
const givesAway: Leave = async (thief) => {
  const path = `/api/v1/tenants/${thief.tenantId}/members/`
  const friend = await service.register()
  await expect(201, thief.post(path, { user_id: friend.id, roles: ['owner'] }))
  const { results } = await expect(200, thief.get(`${path}?user_id=${thief.id}`))
  await expect(204, thief.delete(`${path}${results[0].id}/`))
}

/** A person who proved their address long ago, after a thief took their tenants away; the last one in this way. */
async function robbed(leave: Leave) {
  const owner = await longProven(service)
  await deletes(await service.logIn(owner))
  const thief = await service.logIn(owner)
  await leave(thief)
  t.match(await attemptLogin(service, owner), { status: 403, body: { code: 'no_active_membership' } })
  return { owner, last: thief.tenantId }
}

const resets = async ({ email }: { email: string }) => {
  const tenants = await count('tenants')
  await expect(200, post('password/reset', { email }))
  const token = tokenIn(await service.mailTo(email, 'Reset'))
  await expect(200, post('password/reset/confirm', { token, password }))
  t.equal(await count('tenants'), tenants, 'neither the mail nor the reset makes a tenant')
  return expect(200, attemptLogin(service, { email, password }))
}
const opensLink = async ({ email }: { email: string }) => {
  const { nonce } = await expect(200, post('magic-link', { email }))
  const token = tokenIn(await service.mailTo(email, 'Someone asked to sign in'))
  return expect(200, post('magic-link/confirm', { token, nonce }))
}

for (const recover of [resets, opensLink])
  for (const leave of [deletes, givesAway])
    t.test(
      `${recover.name}: the owner gets back in after a thief ${leave.name} the last tenant`,
      async (t) => {
        const { owner, last } = await robbed(leave)
        const { access } = await recover(owner)
        const { tenant_id: tenantId, user_id: id } = claimsOf(access)
        t.equal(id, owner.id)
        t.not(tenantId, last)
        const me = await service.call('GET', '/api/v1/users/me/', { token: access })
        t.match(me, { status: 200, body: { current_tenant: { id: tenantId }, roles: ['owner'] } })
        const rows = await look(
          service,
          `select from audit_log where tenant_id = $1 and ip <> '' and action in ('password:reset', 'magic_link:confirm')`,
          [last],
        )
        t.same(rows, [], 'the tenant of the thief does not learn from where')
      },
    )

t.test('a login makes one tenant more after a link from a mail, and then none for a day', async (t) => {
  const { owner } = await robbed(deletes)
  await resets(owner)
  const again = await service.logIn({ ...owner, password })
  await deletes(again)
  const refused = await attemptLogin(service, { ...owner, password })
  t.match(refused, { status: 403, body: { code: 'no_active_membership', detail: /reset your password/i } })
  const { email } = owner
  await expect(200, post('password/reset', { email }))
  const token = tokenIn(await service.mailTo(email, 'Reset'))
  await expect(200, post('password/reset/confirm', { token, password }))
  t.equal(
    (await attemptLogin(service, { ...owner, password })).status,
    403,
    'a second link that day makes none',
  )
  service.advance(86_400_000)
  t.equal((await attemptLogin(service, { ...owner, password })).status, 200)
})
