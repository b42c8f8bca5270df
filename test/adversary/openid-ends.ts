import { colleague } from '../helpers/colleague.ts'
import type { Client, Service } from '../helpers/service.ts'
import {
  authorize,
  callback,
  openApplication,
  openBrowser,
  request,
  tokensFor,
} from '../oauth/relying-party.ts'
import { expect } from '../tenancy/staff.ts'
import type { Attack } from './attack.ts'

/** Each end of what stands behind a grant, and what refuses it from then on: what the person and their application still hold. */
export const openidEnds: Attack = {
  name: 'openid-ends',
  about: 'codes and tokens of applications after each end of what stands behind them',
  async run(stage, tally) {
    const service = await stage.fresh({ workers: false, env: { RATE_LIMIT_ENABLED: 'false' } })
    const slowest = { ms: 0 }
    for (const [what, end] of Object.entries(ends)) {
      const holding = await hold(service)
      for (const [use, isAccepted] of Object.entries(holding.uses).filter(([name]) => name !== 'code'))
        tally.check(await isAccepted(), `${use} before ${what}`)
      const uses = { ...holding.uses, refresh: holding.refresh }
      await end(holding)
      const begun = performance.now()
      for (const [use, isAccepted] of Object.entries(uses))
        tally.count(`${use} after ${what}`, (await isAccepted()) ? 'it is accepted' : null)
      slowest.ms = Math.max(slowest.ms, performance.now() - begun)
    }
    tally.figures.push(
      `after each of ${Object.keys(ends).length} ends, all five uses were refused within ${Math.ceil(slowest.ms)} ms`,
    )
  },
}

interface Holding {
  owner: Client
  person: Client
  memberPath: string
  clientPath: string
}

/** A member with a code, and with tokens for userinfo and for the API. */
async function hold(service: Service) {
  const owner = await service.signUp()
  const scopes = ['openid', 'member:list', 'offline_access']
  const app = await openApplication(service, owner, { first_party: true, scopes })
  const person = await colleague(service, owner)
  const { tokens } = await tokensFor(service, app, person)
  const resource = `${service.deps.publicUrl()}/api/v1`
  const forApi = (await tokensFor(service, app, person, { scope: 'openid member:list', resource })).tokens
  const { path, checks } = await request(app, { scope: 'openid offline_access' })
  const code = (await authorize(openBrowser(service), person, path)).searchParams.get('code')!
  const headers = { Authorization: `Basic ${btoa(`${app.client.id}:${app.secret}`)}` }
  const post = async (path: string, fields: Record<string, string>) => {
    const answer = await fetch(service.url + path, {
      method: 'POST',
      headers,
      body: new URLSearchParams(fields),
    })
    return { status: answer.status, body: (await answer.json()) as { active?: boolean } }
  }
  const works = async (path: string, token: string) =>
    (await fetch(service.url + path, { headers: { Authorization: `Bearer ${token}` } })).status === 200
  const tenant = `/api/v1/tenants/${owner.tenantId}`
  const { results } = await expect(200, owner.get(`${tenant}/members/?user_id=${person.id}`))
  return {
    owner,
    person,
    memberPath: `${tenant}/members/${results[0].id}/`,
    clientPath: `/api/v1/oauth-clients/${app.client.id}/`,
    refresh: async () =>
      (await post('/oauth/token', { grant_type: 'refresh_token', refresh_token: tokens.refresh_token! }))
        .status === 200,
    uses: {
      userinfo: () => works('/oauth/userinfo', tokens.access_token),
      'a call of the API': () => works(`${tenant}/members/`, forApi.access_token),
      introspection: async () =>
        (await post('/oauth/introspect', { token: tokens.access_token })).body.active === true,
      code: async () =>
        (
          await post('/oauth/token', {
            grant_type: 'authorization_code',
            code,
            redirect_uri: callback,
            code_verifier: checks.pkceCodeVerifier,
          })
        ).status === 200,
    },
  }
}

const ends: Record<string, (holding: Holding) => Promise<unknown>> = {
  removal: ({ owner, memberPath }) => expect(204, owner.delete(memberPath)),
  'removal, and membership anew': async ({ owner, person, memberPath }) => {
    await expect(204, owner.delete(memberPath))
    await expect(201, owner.post(`/api/v1/tenants/${owner.tenantId}/members/`, { user_id: person.id }))
  },
  suspension: ({ owner, memberPath }) => expect(200, owner.patch(memberPath, { status: 'suspended' })),
  'the suspension of the tenant': ({ owner }) =>
    expect(200, owner.post(`/api/v1/tenants/${owner.tenantId}/suspend/`)),
  'a logout from everywhere': ({ person }) => expect(200, person.post('/api/v1/auth/logout-all/')),
  'the end of the account': ({ person }) =>
    expect(204, person.delete('/api/v1/users/me/', { body: { current_password: person.password } })),
  'the application is disabled': ({ owner, clientPath }) =>
    expect(200, owner.patch(clientPath, { is_active: false })),
  'the application is deleted': ({ owner, clientPath }) => expect(204, owner.delete(clientPath)),
}
