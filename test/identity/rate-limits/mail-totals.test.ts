import t from 'tap'
import { proveAddress } from '../../helpers/prove-address.ts'
import { type Client, startService } from '../../helpers/service.ts'
import { look } from '../../tenancy/staff.ts'
import { registerPasskey } from '../passkeys/software-passkey.ts'
import { env } from './limits-logins.ts'

// The figures of SECURITY.md. The windows of minutes and hours follow the wall clock: those of minutes are deleted here, as
// if each mail was asked for in another minute.

const service = await startService(t, {
  env: {
    ...env,
    MAGIC_LINK_ENABLED: 'true',
    RATE_LIMIT_LOGIN_PER_ACCOUNT: '1000',
    RATE_LIMIT_SIGN_INS_PER_ACCOUNT: '1000',
  },
  workers: false,
})
const queued = async (): Promise<Record<string, number>> => {
  const rows = await look(service, 'select template, count(*)::int as count from mails group by template')
  return Object.fromEntries(rows.map(({ template, count }) => [template, count]))
}

/** The mails that `work` queues, by template. */
async function causedBy(work: () => Promise<unknown>) {
  const before = await queued()
  await work()
  const after = await queued()
  const caused = Object.keys(after).map((name) => [name, after[name]! - (before[name] ?? 0)] as const)
  return Object.fromEntries(caused.filter(([, count]) => count > 0))
}

async function repeat(times: number, call: (n: number) => Promise<unknown>) {
  for (let n = 0; n < times; n++) {
    await call(n)
    await look(service, "delete from rate_limits where key like '%mail-minute%'")
  }
}

let homes = 0
const from = (ip: string) => ({ headers: { 'x-forwarded-for': ip } })
/** A person whose registration came from an address of its own. */
async function person(): Promise<Client> {
  const home = from(`198.51.100.${++homes}`)
  const body = {
    email: `owner${homes}@example.com`,
    password: 'a quiet harbour',
    first_name: '',
    last_name: '',
  }
  await service.call('POST', '/api/v1/auth/register/', { body, ...home })
  return service.logIn(body)
}

t.test('one address of callers without an account', async (t) => {
  const targets = await Promise.all(Array.from({ length: 8 }, person))
  const stranger = from('203.0.113.200')
  const ask = (path: string, { email }: { email: string }) =>
    service.call('POST', `/api/v1/auth/${path}/`, { body: { email }, ...stranger })
  const [victim] = targets as [Client]
  t.same(
    await causedBy(() => repeat(12, () => ask('password/reset', victim))),
    { password_reset: 10 },
    'to one address',
  )
  const rest = await causedBy(() =>
    repeat(80, (n) => ask(n % 2 ? 'magic-link' : 'password/reset', targets[n % 8]!)),
  )
  t.equal(10 + rest.password_reset! + rest.magic_link!, 60, 'in all')
  const register = (n: number) =>
    service.call('POST', '/api/v1/auth/register/', {
      body: { email: `made${n}@example.com`, password: 'a quiet harbour', first_name: '', last_name: '' },
      ...stranger,
    })
  t.same(await causedBy(() => repeat(12, register)), { email_verification: 10 })
})

t.test('one account', async (t) => {
  const squatter = await person()
  const own = await causedBy(async () => {
    await repeat(12, () => squatter.post('/api/v1/auth/otp/email/send/'))
    await repeat(12, () => squatter.post('/api/v1/auth/email/verify/send/'))
    await repeat(12, (n) =>
      service.call('POST', '/api/v1/auth/login/', {
        body: { email: squatter.email, password: squatter.password },
        headers: { 'user-agent': `Firefox/${n}` },
      }),
    )
  })
  t.same(
    own,
    { second_factor_code: 10, email_verification: 10 },
    'no notices to an address that is not proven',
  )

  const guests = await causedBy(async () => {
    for (let n = 0; n < 4; n++) {
      const { body: tenant } = await squatter.post('/api/v1/tenants/', { name: `Tenant ${n}` })
      await squatter.switchTo(tenant.id)
      const path = `/api/v1/tenants/${tenant.id}/invitations/`
      const { body: made } = await squatter.post(path, { email: 'guest@example.com' })
      await repeat(4, () => squatter.post(`${path}${made.id}/resend/`))
    }
  })
  t.same(guests, { invitation: 10 }, 'to one address, from all its tenants')

  const mover = await person()
  const moves = await causedBy(() =>
    repeat(24, (n) => mover.patch('/api/v1/users/me/', { email: n % 2 ? mover.email : 'moved@example.com' })),
  )
  t.equal(moves.email_verification, 20, 'ten to each of two addresses')

  const proven = await person()
  await proveAddress(service, proven)
  const { passkey } = await registerPasskey(service, proven)
  const renames = await causedBy(() =>
    repeat(8, (n) => proven.patch(`/api/v1/auth/passkeys/${passkey.id}/`, { name: `Name ${n}` })),
  )
  t.same(renames, { passkey_renamed: 8 }, 'of which the worker sends five and one more: identity/notices')

  const settled = await person()
  await look(service, 'update users set email_verified_at = $2, date_joined = $2 where id = $1', [
    settled.id,
    new Date(service.now() - 2 * 86_400_000),
  ])
  const sets = await causedBy(() => repeat(12, () => settled.post('/api/v1/auth/otp/static/generate/')))
  t.same(sets, { young_factor_added: 10 })
})
