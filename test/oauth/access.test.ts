import * as oidc from 'openid-client'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { eventsOf, openDatabase } from '../helpers/event-log.ts'
import { startService } from '../helpers/service.ts'
import { codeAt, enrol } from '../identity/otp/authenticator.ts'
import { expect } from '../tenancy/staff.ts'
import {
  authorize,
  invalidGrant,
  openApplication,
  openBrowser,
  request,
  signIn,
  tokensFor,
} from './relying-party.ts'

// Policies decide who may use an application.

const service = await startService(t, { workers: false })
const owner = await service.signUp()
const member = await colleague(service, owner)
const colleagueOf = await colleague(service, owner)
const approver = await colleague(service, owner, 'admin')
const shop = await openApplication(service, owner, {
  name: 'Shop',
  redirect_uris: ['https://app.example.com/callback', 'https://other.example.com/callback'],
})
const blog = await openApplication(service, owner, { name: 'Blog' })
const silent = { prompt: 'none' }

const policy = (name: string, more: object): Promise<{ id: string }> =>
  expect(201, owner.post('/api/v1/policies/', { name, actions: ['oauth:authorize'], ...more }))
const drop = ({ id }: { id: string }) => expect(204, owner.delete(`/api/v1/policies/${id}/`))
const about = ({ client }: typeof shop) => ({
  conditions: { attribute: 'resource.id', operator: 'eq', value: client.id },
})
const forPerson = ({ id }: { id: string }) => ({ subjects: { users: [id] } })

const requests = '/api/v1/approval-requests/'
const waiting = async () => (await expect(200, owner.get(`${requests}?status=pending`))).results

/** Presses the button that asks. */
async function ask(browser: ReturnType<typeof openBrowser>) {
  const { refresh } = await browser.send({ decision: 'ask' })
  return follow(browser, refresh!)
}

/** A browser of a person who is signed in, and what it sees first of a request. */
async function open(person: typeof member, application = shop, more: Record<string, string> = {}) {
  const browser = openBrowser(service)
  await browser.visit((await request(application, more)).path)
  const left = await signIn(browser, person)
  return { browser, seen: await follow(browser, left.refresh!) }
}

async function follow(browser: ReturnType<typeof openBrowser>, path: string) {
  let seen = await browser.visit(path)
  while (seen.refresh && !/^https:/.test(seen.refresh)) seen = await browser.visit(seen.refresh)
  return seen
}

/** What an evaluation says of a person and an application. */
async function mayUse({ id }: typeof member, { client }: typeof shop): Promise<boolean> {
  const asked = {
    subject: { type: 'user', id },
    action: { name: 'oauth:authorize' },
    resource: { type: 'oauth_client', id: client.id },
  }
  return (await expect(200, owner.post('/access/v1/evaluation', asked))).decision
}

t.test('a deny is a page with the reason and the decision, and a way back', async (t) => {
  const deny = await policy('No shop', { effect: 'deny', ...about(shop), ...forPerson(member) })
  const { browser, seen } = await open(member)
  t.equal(seen.title, 'You cannot use Shop')
  t.match(seen.text, 'The rules of its organisation do not let you in.')
  const [decision] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(seen.text)!
  const explained = await expect(200, member.get(`/api/v1/decisions/${decision}/`))
  t.match(explained, { action: 'oauth:authorize', resource: { type: 'oauth_client', id: shop.client.id } })
  const back = await browser.send({ decision: 'back' })
  t.match(
    (await browser.visit(back.refresh!)).refresh,
    /^https:\/\/app\.example\.com\/callback\?error=access_denied/,
  )
  const none = await browser.visit((await request(shop, silent)).path)
  t.match(none.refresh, /[?&]error=access_denied/)
  t.equal((await open(member, blog)).seen.title, 'Continue to Blog')
  t.equal(await mayUse(member, shop), false)
  t.equal(await mayUse(member, blog), true)
  const found = await expect(
    200,
    owner.post('/access/v1/search/resource', {
      subject: { type: 'user', id: member.id },
      action: { name: 'oauth:authorize' },
      resource: { type: 'oauth_client' },
    }),
  )
  t.same(found.results, [{ type: 'oauth_client', id: blog.client.id }])
  t.match((await open(owner)).seen.title, 'Continue to Shop')
  await drop(deny)
})

t.test('who is no member sees why, and can take another account', async (t) => {
  const stranger = await service.signUp()
  const { browser, seen } = await open(stranger)
  t.equal(seen.title, 'You cannot use Shop')
  t.match(seen.text, 'You are not a member of its organisation.')
  t.match((await browser.visit((await request(shop, silent)).path)).refresh, /[?&]error=access_denied/)
  const other = openBrowser(service)
  await other.visit((await request(shop)).path)
  await follow(other, (await signIn(other, stranger)).refresh!)
  const address = /href="([^"]*sign-in\/address[^"]*)"/.exec(seen.text)![1]!.replaceAll('&amp;', '&')
  await browser.visit(address)
  const left = await signIn(browser, member)
  t.equal((await follow(browser, left.refresh!)).title, 'Continue to Shop')
})

t.test('an approval is asked for, given, and used for one authorization', async (t) => {
  const gate = await policy('Ask', { effect: 'require_approval', ...about(shop) })
  const { browser, seen } = await open(member)
  t.equal(seen.title, 'Ask for access to Shop')
  t.match(seen.text, 'app.example.com')
  t.match((await browser.visit((await request(shop, silent)).path)).refresh, /error=interaction_required/)
  t.same(await waiting(), [], 'an address that a browser opens asks no one')
  await follow(browser, (await request(shop)).path)
  t.equal((await ask(browser)).title, 'Your request waits')
  const [found] = await waiting()
  t.match(found, {
    action: 'oauth:authorize',
    resource_type: 'oauth_client',
    resource_id: shop.client.id,
    requester: { id: member.id },
    context: {
      method: 'POST',
      path: '/oauth/authorize',
      body: { name: 'Shop', redirect_host: 'app.example.com' },
    },
  })
  await expect(200, approver.post(`${requests}${found.id}/approve/`, {}))
  const { path, checks } = await request(shop)
  const answer = await authorize(browser, member, path)
  const tokens = await oidc.authorizationCodeGrant(shop.config, answer, checks)
  t.match(await expect(200, owner.get(`${requests}${found.id}/`)), { status: 'executed' })
  const refreshed = await oidc.refreshTokenGrant(shop.config, tokens.refresh_token!)
  t.ok(refreshed.access_token, 'the grant carries it')
  t.equal((await follow(browser, (await request(shop)).path)).title, 'Ask for access to Shop', 'once')
  await drop(gate)
})

t.test('an approval opens nothing else', async (t) => {
  const gate = await policy('Ask', { effect: 'require_approval' })
  const { browser } = await open(member)
  await ask(browser)
  const [{ id }] = await waiting()
  await expect(200, approver.post(`${requests}${id}/approve/`, {}))
  const others: Record<string, string>[] = [
    { scope: 'openid profile' },
    { redirect_uri: 'https://other.example.com/callback' },
  ]
  for (const more of others)
    t.match(
      (await follow(browser, (await request(shop, more)).path)).title,
      'Ask for access to Shop',
      JSON.stringify(more),
    )
  t.match((await follow(browser, (await request(blog)).path)).title, 'Ask for access to Blog')
  t.match((await open(colleagueOf)).seen.title, 'Ask for access to Shop', 'another person')
  const { path } = await request(shop)
  t.match((await authorize(browser, member, path)).search, /code=/)
  await drop(gate)
})

t.test('a request that was rejected is told, and asked again by choice alone', async (t) => {
  const gate = await policy('Ask', { effect: 'require_approval', ...about(shop) })
  const { browser } = await open(member)
  await ask(browser)
  const [{ id }] = await waiting()
  await expect(200, approver.post(`${requests}${id}/reject/`, {}))
  const again = await follow(browser, (await request(shop)).path)
  t.match(again, {
    title: 'Your request was refused',
    text: /It was refused on [^<]*2026[^<]*\. You can ask again\./,
  })
  t.same(await waiting(), [])
  t.equal((await ask(browser)).title, 'Your request waits')
  const [other] = await waiting()
  await expect(200, approver.post(`${requests}${other.id}/approve/`, {}))
  t.match((await authorize(browser, member, (await request(shop)).path)).search, /code=/)
  t.equal((await follow(browser, (await request(shop)).path)).title, 'Ask for access to Shop', 'used since')
  await drop(gate)
})

t.test('an approval for an application on loopback holds at each of its ports', async (t) => {
  const app = await openApplication(service, owner, {
    kind: 'native',
    redirect_uris: ['http://127.0.0.1/callback'],
  })
  const at = (port: number) => ({ redirect_uri: `http://127.0.0.1:${port}/callback` })
  const gate = await policy('Ask', { effect: 'require_approval', ...about(app) })
  const { browser } = await open(member, app, at(50_001))
  await ask(browser)
  const [{ id, context }] = await waiting()
  t.equal(context.body.redirect_host, '127.0.0.1')
  await expect(200, approver.post(`${requests}${id}/approve/`, {}))
  const answer = await authorize(browser, member, (await request(app, at(50_002))).path)
  t.match(answer, { port: '50002', search: /code=/ })
  await drop(gate)
})

t.test('of requests at the same time one uses the approval', async (t) => {
  const gate = await policy('Ask', { effect: 'require_approval', ...about(shop) })
  const { browser } = await open(member)
  await ask(browser)
  const [{ id }] = await waiting()
  await expect(200, approver.post(`${requests}${id}/approve/`, {}))
  const paths = await Promise.all(Array.from({ length: 8 }, () => request(shop, silent)))
  const answers = await Promise.all(paths.map(({ path }) => browser.visit(path)))
  t.equal(answers.filter(({ refresh }) => /[?&]code=/.test(refresh ?? '')).length, 1)
  await drop(gate)
})

t.test('a step-up by password ends nothing that stands on the session', async (t) => {
  const app = await openApplication(service, owner, { scopes: ['openid'] })
  const browser = openBrowser(service)
  const { path, checks } = await request(app, { scope: 'openid' })
  const tokens = await oidc.authorizationCodeGrant(app.config, await authorize(browser, member, path), checks)
  service.advance(120_000)
  const stepUp = await policy('Fresh', {
    effect: 'allow',
    ...about(app),
    obligations: [{ type: 'step_up', properties: { acr: 'aal1', max_age: 60 } }],
  })
  const next = await request(app, { scope: 'openid' })
  t.match((await follow(browser, next.path)).text, /name="password"/)
  const left = await browser.send({ password: member.password })
  const later = await oidc.authorizationCodeGrant(
    app.config,
    new URL((await follow(browser, left.refresh!)).refresh!),
    next.checks,
  )
  const [before, after] = [tokens.claims()!, later.claims()!]
  t.equal(after.sid, before.sid)
  t.equal(Number(after.auth_time), Number(before.auth_time) + 120)
  t.ok((await oidc.refreshTokenGrant(app.config, tokens.refresh_token!)).access_token)
  await drop(stepUp)
})

t.test('a step-up is the page of the factor, or of the password', async (t) => {
  const stepUp = await policy('Fresh', {
    effect: 'allow',
    ...about(shop),
    obligations: [{ type: 'step_up', properties: { acr: 'aal1', max_age: 60 } }],
  })
  const { browser, seen } = await open(member)
  t.match(seen.refresh, /[?&]code=/)
  service.advance(120_000)
  t.match((await browser.visit((await request(shop, silent)).path)).refresh, /error=login_required/)
  const again = await follow(browser, (await request(shop)).path)
  t.match(again.text, /name="password"/)
  const left = await browser.send({ password: member.password })
  t.match((await follow(browser, left.refresh!)).refresh, /[?&]code=/)
  await drop(stepUp)
})

t.test(
  'a call that needs a step-up goes through with the token of the sign-in that it asks for',
  async (t) => {
    const person = await colleague(service, owner, 'admin')
    const resource = `${service.deps.publicUrl()}/api/v1`
    const departments = `/api/v1/tenants/${owner.tenantId}/departments/`
    const app = await openApplication(service, owner, {
      scopes: ['openid', 'offline_access', 'department:create'],
    })
    const asked = { scope: 'openid offline_access department:create', resource }
    const { browser, tokens } = await tokensFor(service, app, person, asked)
    const call = ({ access_token: token }: { access_token: string }) =>
      service.call('POST', departments, { token, body: { name: crypto.randomUUID() } })
    const { secret } = await enrol(service, person)
    for (const acr of ['aal1', 'aal2']) {
      service.advance(120_000)
      const stepUp = await policy(acr, {
        actions: ['department:create'],
        effect: 'allow',
        subjects: { users: [person.id] },
        obligations: [{ type: 'step_up', properties: { acr, max_age: 60 } }],
      })
      const refused = await call(tokens)
      t.match(refused, { status: 401, body: { code: 'insufficient_user_authentication' } })
      const challenge = refused.headers.get('www-authenticate')!
      t.match(challenge, /^Bearer error="insufficient_user_authentication", /)
      const [, acr_values, max_age] = /acr_values="(.+?)", max_age="(.+?)"/.exec(challenge)!
      t.same({ acr_values, max_age }, { acr_values: acr, max_age: '60' })
      const { path, checks } = await request(app, { ...asked, acr_values: acr_values!, max_age: max_age! })
      await follow(browser, path)
      t.match((await signIn(browser, person)).text, /one-time-code/)
      const left = await browser.send({ code: codeAt(secret, service.now()) })
      const answer = new URL((await follow(browser, left.refresh!)).refresh!)
      const fresh = await oidc.authorizationCodeGrant(app.config, answer, checks)
      t.match(await call(fresh), { status: 201 }, acr)
      const renewed = await oidc.refreshTokenGrant(app.config, fresh.refresh_token!)
      t.match(await call(renewed), { status: 201 })
      t.match(await call(tokens), { status: 401 }, 'the other token is as old as it was')
      service.advance(61_000)
      t.match(await call(await oidc.refreshTokenGrant(app.config, renewed.refresh_token!)), { status: 401 })
      await drop(stepUp)
    }
  },
)

t.test('a deny that comes later refuses the code, the refresh and the token, until it goes', async (t) => {
  const browser = openBrowser(service)
  const first = await request(shop)
  const tokens = await oidc.authorizationCodeGrant(
    shop.config,
    await authorize(browser, member, first.path),
    first.checks,
  )
  const later = await request(shop)
  const answer = await authorize(browser, member, later.path)
  const night = await policy('No shop', { effect: 'deny', ...about(shop), ...forPerson(member) })
  await t.rejects(oidc.authorizationCodeGrant(shop.config, answer, later.checks), invalidGrant)
  await t.rejects(oidc.refreshTokenGrant(shop.config, tokens.refresh_token!), invalidGrant)
  t.match(await oidc.tokenIntrospection(shop.config, tokens.access_token), { active: false })
  await t.rejects(oidc.fetchUserInfo(shop.config, tokens.access_token, member.id))
  const database = await openDatabase(t, service)
  const events = await eventsOf(database, owner.tenantId)
  const denials = events.filter(({ type }) => type === 'application.authorization_denied').slice(-2)
  t.match(denials, Array(2).fill({ data: { client_id: shop.client.id, user_id: member.id } }))
  const decision = await expect(200, member.get(`/api/v1/decisions/${denials[0]!.data.decision_id}/`))
  t.match(decision, { effect: 'deny', action: 'oauth:authorize' })
  await drop(night)
  const gate = await policy('Ask', { effect: 'require_approval', ...about(shop) })
  t.ok((await oidc.refreshTokenGrant(shop.config, tokens.refresh_token!)).access_token, 'a gate asks once')
  await drop(gate)
})

t.test('conditions read where a request leads, and what it asks for', async (t) => {
  for (const [key, data_type] of [
    ['redirect_host', 'string'],
    ['scopes', 'array'],
  ])
    await expect(201, owner.post('/api/v1/attribute-definitions/', { key, category: 'resource', data_type }))
  const where = { attribute: 'resource.redirect_host', operator: 'eq', value: 'other.example.com' }
  const what = { attribute: 'resource.scopes', operator: 'contains', value: 'email' }
  const deny = await policy('No addresses there', { effect: 'deny', conditions: { all: [where, what] } })
  const there = { redirect_uri: 'https://other.example.com/callback' }
  t.equal((await open(member, shop, there)).seen.title, 'You cannot use Shop')
  t.match((await open(member, shop, { ...there, scope: 'openid' })).seen.refresh, /[?&]code=/)
  t.match((await open(member)).seen.refresh, /[?&]code=/)
  await drop(deny)
})

t.test('a sign-in is in the audit log, with its decision', async (t) => {
  const { results } = await expect(200, owner.get('/api/v1/audit-log/?action=oauth:authorize'))
  const [{ decision_id, target }] = results
  t.equal(target.type, 'oauth_client')
  t.match(await expect(200, owner.get(`/api/v1/decisions/${decision_id}/`)), { effect: 'allow' })
})
