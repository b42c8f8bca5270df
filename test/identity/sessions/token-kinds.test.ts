import * as oidc from 'openid-client'
import t from 'tap'
import { createReadiness } from '../../../src/pages/health.ts'
import { listRoutes } from '../../../src/start/app.ts'
import { type Client, tokenIn } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { openApplication, openMachine, tokensFor } from '../../oauth/relying-party.ts'
import { attemptLogin, codeIn, enrol } from '../otp/authenticator.ts'

const service = await sharedService(t)
const { call } = service

t.test('a temporary token opens the routes that complete a sign-in, and no other route', async (t) => {
  const person = await service.signUp()
  await enrol(service, person)
  const token = (await attemptLogin(service, person)).body.temporary_token
  const routes = listRoutes(service.deps, createReadiness(service.deps.db, service.deps.clock))
  const credential = {
    id: 'AA',
    rawId: 'AA',
    type: 'public-key',
    response: { clientDataJSON: 'AA', attestationObject: 'AA' },
  }
  const open: string[] = []
  for (const { method, path, action } of routes.filter((route) => route.action !== 'public')) {
    const answer = await call(method, path.replaceAll(/:\w+/g, person.tenantId), {
      token,
      ...(method !== 'GET' && { body: { code: '000000', credential } }),
    })
    const closed = answer.status === 401 && answer.body.code === 'otp_required'
    if (!closed) open.push(`${action} ${answer.status}`)
  }
  t.strictSame(
    open.sort(),
    ['otp:send 200', 'otp:verify 400', 'passkey:verify 400', 'passkey:verify 404'],
    'set-up is closed to people who have a device',
  )
})

/** What an application gets for the API, in the name of a person. */
async function applicationToken(person: Client): Promise<string> {
  const application = await openApplication(service, person)
  const more = { scope: 'openid', resource: `${service.deps.publicUrl()}/api/v1` }
  return (await tokensFor(service, application, person, more)).tokens.access_token
}

/** What a machine gets for the API, in its own name. */
async function machineToken(person: Client): Promise<string> {
  const { config } = await openMachine(service, person, { scopes: ['profile:read'] })
  return (await oidc.clientCredentialsGrant(config)).access_token
}

t.test('every kind of token and code works only where it belongs', async (t) => {
  const person = await service.signUp()
  const { codes } = (await person.post('/api/v1/auth/otp/static/generate/')).body
  await person.post('/api/v1/auth/otp/email/send/')
  const other = await service.signUp()
  await enrol(service, other)
  const kinds = {
    access: person.access,
    refresh: person.refresh,
    temporary: (await attemptLogin(service, other)).body.temporary_token,
    verification: tokenIn(await service.mailTo(person.email, 'Confirm')),
    mailed: codeIn(await service.mailTo(person.email, 'sign-in code')),
    recovery: codes[0],
    oauth: await applicationToken(person),
    machine: await machineToken(person),
  }
  const consumers: Record<string, (secret: string) => Promise<{ status: number }>> = {
    bearer: (token) => call('GET', '/api/v1/users/me/', { token }),
    'bearer of a sign-in': (token) => call('POST', '/api/v1/auth/otp/email/send/', { token }),
    refresh: (refresh) => call('POST', '/api/v1/auth/refresh/', { body: { refresh } }),
    confirmation: (token) => call('POST', '/api/v1/auth/email/verify/confirm/', { body: { token } }),
    rejection: (token) => call('POST', '/api/v1/auth/email/verify/reject/', { body: { token } }),
    code: (code) => person.post('/api/v1/auth/otp/verify/', { code }),
  }
  const allowed = new Set([
    'access at bearer',
    'access at bearer of a sign-in',
    'temporary at bearer of a sign-in',
    'refresh at refresh',
    'verification at confirmation',
    'oauth at bearer',
    'machine at bearer',
    'mailed at code',
    'recovery at code',
  ])
  for (const [consumer, use] of Object.entries(consumers))
    for (const [kind, secret] of Object.entries(kinds)) {
      const { status } = await use(secret)
      const place = `${kind} at ${consumer}`
      if (allowed.has(place)) t.equal(status, 200, place)
      else t.match(status, /^(oauth|machine)$/.test(kind) ? /^(400|401|403)$/ : /^(400|401)$/, place)
    }
})
