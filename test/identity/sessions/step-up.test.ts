import t from 'tap'
import { colleague } from '../../helpers/colleague.ts'
import { type Client, claimsOf } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { changeRows, codeAt, codeIn, enrol, requireMfa } from '../otp/authenticator.ts'

const service = await sharedService(t)
const minutes = 60_000
const aal2First = { status: 401, body: { code: 'insufficient_user_authentication', acr_values: 'aal2' } }

/** Asks for a second factor in the last 10 minutes, and changes nothing else that matters here. */
const demanding = (token: string) =>
  service.call('POST', '/api/v1/auth/otp/static/generate/', { token, body: {} })

const switchTo = async (person: Client, tenantId: string, more = {}): Promise<Client> => {
  const { body } = await person.post('/api/v1/auth/switch-tenant/', { tenant_id: tenantId, ...more })
  return { ...person, ...body, tenantId }
}

/** A person with an app, in a session that shows no second factor: the demand at the login is switched off. */
async function enrolled() {
  const person = await service.signUp()
  const { secret } = await enrol(service, person)
  service.advance(20 * minutes)
  const verify = (token: string) => {
    service.advance(minutes)
    const body = { code: codeAt(secret, service.now()) }
    return service.call('POST', '/api/v1/auth/otp/verify/', { token, body })
  }
  return { person, verify }
}

const renewed = async ({ refresh }: { refresh: string }) =>
  (await service.call('POST', '/api/v1/auth/refresh/', { body: { refresh } })).body as {
    access: string
    refresh: string
  }

t.test('a second factor raises the chain that showed it, and no other chain of the session', async (t) => {
  const { person, verify } = await enrolled()
  Object.assign(person, await renewed(person))
  const copy = await switchTo(person, person.tenantId)
  t.match(await demanding(person.access), aal2First)
  t.match(await demanding(copy.access), aal2First)
  t.match(await verify(person.access), { status: 200, body: { verified: true, access: undefined } })
  t.match(await demanding(person.access), { status: 200 })
  t.match(await demanding(copy.access), aal2First, 'a chain from before')
  t.match(await demanding((await renewed(copy)).access), aal2First, 'nor after a refresh')
  const pair = await renewed(person)
  t.match(claimsOf(pair.access), { acr: 'aal2', amr: ['pwd', 'otp', 'mfa'] })
  t.match(await demanding(pair.access), { status: 200 }, 'the same chain, after a refresh')
  const child = await switchTo({ ...person, ...pair }, person.tenantId)
  t.match(await demanding(child.access), { status: 200 }, 'a chain made from it')
  service.advance(11 * minutes)
  for (const { access } of [await renewed(pair), await renewed(child)])
    t.match(await demanding(access), aal2First, 'for ten minutes')
})

t.test('a chain enters a strict tenant by a factor of its own, and lasts no longer for it', async (t) => {
  const person = await service.signUp()
  const begun = service.now()
  const copy = await switchTo(person, person.tenantId)
  const { body: strict } = await person.post('/api/v1/tenants/', { name: 'Strict' })
  await requireMfa(service, strict.id)
  const { secret } = await enrol(service, person)
  t.equal((await switchTo(person, strict.id)).tenantId, strict.id, 'the chain that confirmed the app enters')
  service.advance(3_600_000)
  Object.assign(copy, await renewed(copy))
  const rename = { token: copy.access, body: { name: 'Renamed' } }
  t.match(await service.call('PATCH', `/api/v1/tenants/${strict.id}/`, rename), aal2First, 'from outside')
  const asked = await service.call('POST', '/api/v1/auth/switch-tenant/', {
    token: copy.access,
    body: { tenant_id: strict.id },
  })
  t.match(asked, { status: 401, body: { code: 'otp_required' } })
  const { body: entered } = await service.call('POST', '/api/v1/auth/otp/verify/', {
    token: asked.body.temporary_token,
    body: { code: codeAt(secret, service.now()) },
  })
  t.match(claimsOf(entered.access), { tenant_id: strict.id, acr: 'aal2', amr: ['pwd', 'otp', 'mfa'] })
  t.equal(claimsOf(entered.refresh).exp * 1000, begun + 12 * 3_600_000)
  t.match(await demanding(entered.access), { status: 200 })
  t.match(await demanding(copy.access), aal2First)
})

t.test('a token without a chain, of release 0.1, shows no factor until it is refreshed', async (t) => {
  const { person } = await enrolled()
  Object.assign(person, await renewed(person))
  const { iss, aud, fid, ...claims } = claimsOf(person.access)
  const old = await service.deps.signer.sign('access', claims)
  t.match(await service.call('GET', '/api/v1/users/me/', { token: old }), { status: 200 })
  t.match(await demanding(old), aal2First)
  const { body: mailed } = await service.call('POST', '/api/v1/auth/otp/email/send/', {
    token: old,
    body: {},
  })
  t.equal(mailed.message, 'OTP code sent')
  const code = codeIn(await service.mailTo(person.email, 'sign-in code'))
  const verify = (token: string) =>
    service.call('POST', '/api/v1/auth/otp/verify/', { token, body: { code } })
  t.match(await verify(old), { status: 401, body: { code: 'token_not_valid' } })
  t.match(await verify(person.access), { status: 200 }, 'the code was not used up')
  const { body: pair } = await service.call('POST', '/api/v1/auth/switch-tenant/', {
    token: old,
    body: { tenant_id: person.tenantId },
  })
  t.equal(claimsOf(pair.refresh).exp * 1000, service.now() + 12 * 3_600_000)
  t.match(await demanding(pair.access), aal2First)
})

t.test(
  'a chain of an earlier release is as its session signed in, until it shows a factor itself',
  async (t) => {
    const { person, verify } = await enrolled()
    Object.assign(person, await renewed(person))
    const copy = await switchTo(person, person.tenantId)
    const { sid } = claimsOf(person.access)
    await changeRows(
      service,
      `update refresh_families set amr = null, second_factor_at = null, ends_at = null where session_id = '${sid}'`,
    )
    t.match(await demanding(person.access), aal2First)
    t.match(await verify(person.access), { status: 200 })
    t.match(await demanding(person.access), { status: 200 })
    t.match(await demanding(copy.access), aal2First)
    t.match(claimsOf((await renewed(person)).access), { acr: 'aal2', amr: ['pwd', 'otp', 'mfa'] })
    t.match(claimsOf((await renewed(copy)).access), { acr: 'aal1', amr: ['pwd'] })
  },
)

t.test('the list of sessions shows the session that asks as its chain is', async (t) => {
  const person = await service.signUp()
  const copy = await switchTo(person, person.tenantId)
  await enrol(service, person)
  const shown = async (token: string) =>
    (await service.call('GET', '/api/v1/auth/sessions/', { token })).body.results
  t.match(await shown(person.access), [{ current: true, acr: 'aal2', amr: ['pwd', 'otp', 'mfa'] }])
  t.match(await shown(copy.access), [{ current: true, acr: 'aal1', amr: ['pwd'] }])
})

t.test('an impersonation ends with the chain that began it', async (t) => {
  const owner = await service.signUp()
  const { secret } = await enrol(service, owner)
  const member = await colleague(service, owner, 'member')
  const copy = await switchTo(owner, owner.tenantId)
  service.advance(12 * 3_600_000 - 5 * minutes)
  Object.assign(copy, await renewed(copy))
  const verify = { token: copy.access, body: { code: codeAt(secret, service.now()) } }
  t.match(await service.call('POST', '/api/v1/auth/otp/verify/', verify), { status: 200 })
  const { body } = await service.call('GET', `/api/v1/tenants/${owner.tenantId}/members/`, {
    token: copy.access,
  })
  const { id } = body.results.find((row: { user_id: string }) => row.user_id === member.id)
  const begun = await service.call('POST', `/api/v1/tenants/${owner.tenantId}/members/${id}/impersonate/`, {
    token: copy.access,
    body: { reason: 'The member cannot see their notes.' },
  })
  t.match(begun, { status: 200 })
  const token = begun.body.access
  t.match(await service.call('GET', '/api/v1/users/me/', { token }), { status: 200, body: { id: member.id } })
  service.advance(6 * minutes)
  t.match(await service.call('GET', '/api/v1/users/me/', { token }), { status: 401 })
})
