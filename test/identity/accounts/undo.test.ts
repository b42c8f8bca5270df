import t from 'tap'
import { claimsOf, tokenIn } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { expect, look } from '../../tenancy/staff.ts'
import { attemptLogin, longProven } from '../otp/authenticator.ts'

// What an undone change of address gives back, and whom it tells.

const service = await sharedService(t)
const me = '/api/v1/users/me/'
const post = (path: string, body: unknown) => service.call('POST', `/api/v1/auth/${path}/`, { body })
const minute = 60_000

/** Resets the password by the link that comes to an address. */
async function reset(email: string, password: string): Promise<void> {
  await expect(200, post('password/reset', { email }))
  const token = tokenIn(await service.mailTo(email, 'Reset'))
  await expect(200, post('password/reset/confirm', { token, password }))
  await look(service, `delete from captured_mails where recipient = $1 and subject ~ 'Reset'`, [email])
}
const confirm = async (email: string) =>
  expect(200, post('email/verify/confirm', { token: tokenIn(await service.mailTo(email, 'someone asked')) }))
const undo = async (email: string) =>
  expect(200, post('email/undo', { token: tokenIn(await service.mailTo(email, 'address was changed')) }))
const entered = (body: { access: string }) => claimsOf(body.access).tenant_id
const queued = async (template: string, userId: string) =>
  (
    await look(
      service,
      `select from mails where template = $1 and tenant_id in (select tenant_id from memberships where user_id = $2)`,
      [template, userId],
    )
  ).length

t.test('the first proof from before the change holds again, so the login enters no trap', async (t) => {
  const squatter = await service.signUp()
  const { email, tenantId: home } = squatter
  const trap = await expect(201, squatter.post('/api/v1/tenants/', { name: 'Trap' }))
  await squatter.switchTo(trap.id)
  const password = 'another quiet harbour'
  await reset(email, password)
  service.advance(minute)
  const owner = await service.logIn({ email, password })
  t.notOk([home, trap.id].includes(owner.tenantId))
  const newer = ['second', 'third'].map((name) => `${name}.${email}`)
  let thief = owner
  for (const address of newer) {
    service.advance(minute)
    await expect(200, thief.patch(me, { email: address }))
    service.advance(minute)
    await reset(address, 'the quiet harbour of a thief')
    thief = await service.logIn({ email: address, password: 'the quiet harbour of a thief' })
  }
  await undo(email)
  await reset(email, password)
  const back = await expect(200, attemptLogin(service, { email, password }))
  t.equal(entered(back), owner.tenantId)
})

t.test('a password that was chosen after the change is gone with it, however it was chosen', async (t) => {
  const chosen = 'the quiet harbour of a thief'
  for (const how of ['reset', 'change']) {
    const owner = await longProven(service)
    const thief = await service.logIn(owner)
    service.advance(minute)
    const email = `thief.${owner.email}`
    await expect(200, thief.patch(me, { email }))
    service.advance(minute)
    await confirm(email)
    if (how === 'reset') await reset(email, chosen)
    else
      await expect(
        200,
        thief.post('/api/v1/auth/password/change/', {
          current_password: owner.password,
          new_password: chosen,
        }),
      )
    await undo(owner.email)
    for (const password of [chosen, owner.password])
      t.match(await attemptLogin(service, { ...owner, password }), { status: 401 }, how)
    await reset(owner.email, 'another quiet harbour')
    await service.logIn({ ...owner, password: 'another quiet harbour' })
  }
})

t.test('the newer address hears of it only if it was proven and a tenant needs an operator', async (t) => {
  for (const { proves, founds } of [
    { proves: false, founds: true },
    { proves: true, founds: false },
    { proves: true, founds: true },
  ]) {
    const owner = await longProven(service)
    const client = await service.logIn(owner)
    service.advance(minute)
    const email = `newer.${owner.email}`
    await expect(200, client.patch(me, { email }))
    service.advance(minute)
    if (proves) await confirm(email)
    if (founds) await expect(201, client.post('/api/v1/tenants/', { name: 'Own firm' }))
    await undo(owner.email)
    t.equal(await queued('email_change_undone', owner.id), proves && founds ? 1 : 0)
    if (proves && founds) await service.mailTo(email, 'is archived')
  }
})
