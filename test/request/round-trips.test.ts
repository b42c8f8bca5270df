import { readFileSync, writeFileSync } from 'node:fs'
import * as oidc from 'openid-client'
import t from 'tap'
import type { Statement } from '../../src/database/executor/flush.ts'
import { flushes } from '../../src/database/executor/pool.ts'
import { sharedService } from '../helpers/shared-service.ts'
import {
  authorize,
  callback,
  openApplication,
  openBrowser,
  openMachine,
  request,
} from '../oauth/relying-party.ts'
import { openPages } from '../pages/sign-in/page-client.ts'

const service = await sharedService(t, { workers: false })
const ada = await service.signUp()
const word = () => `w${Math.random().toString(36).slice(2)}`
const tenant = `/api/v1/tenants/${ada.tenantId}`
const role = await ada.post(`${tenant}/roles/`, { name: 'Reader', permissions: ['note:read'] })
const department = await ada.post(`${tenant}/departments/`, { name: 'Sales' })
const rule = { effect: 'allow', actions: ['note:read'], conditions: {} }
const policy = await ada.post('/api/v1/policies/', { name: 'Notes', ...rule })
const departments = [department.body.id, null]
let moves = 0
const spareRoles = await made(`${tenant}/roles/`)
const spareDepartments = await made(`${tenant}/departments/`)
const member = await ada.get(`${tenant}/members/`)
const key = await ada.post('/api/v1/users/me/keys/', { name: 'Laptop' })
let { refresh } = await service.logIn(ada)
const shop = await openApplication(service, ada, { first_party: true })
const machine = await openMachine(service, ada)
const browser = openBrowser(service)
const codes: Awaited<ReturnType<typeof madeCode>>[] = []
for (let run = 0; run < 6; run++) codes.push(await madeCode())
let tokens: Record<string, string> = {}

/** A code, with what its exchange shows. */
async function madeCode() {
  const { path, checks } = await request(shop)
  const code = (await authorize(browser, ada, path)).searchParams.get('code')!
  return { code, redirect_uri: callback, code_verifier: checks.pkceCodeVerifier }
}

/** A request of the application, which shows its secret. */
function asShop(endpoint: string, fields: Record<string, string>) {
  const headers = { Authorization: `Basic ${btoa(`${shop.client.id}:${shop.secret}`)}` }
  const body = new URLSearchParams(fields)
  return fetch(`${service.url}/oauth/${endpoint}`, { method: 'POST', headers, body })
}

async function token(grant_type: string, fields: Record<string, string>) {
  const answer = await asShop('token', { grant_type, ...fields })
  tokens = (await answer.json()) as Record<string, string>
  return answer
}

/** The ids of six new objects, one for each run. */
async function made(path: string): Promise<string[]> {
  const answers = await Promise.all(
    ['A', 'B', 'C', 'D', 'E', 'F'].map((name) => ada.post(path, { name: `Spare ${name}` })),
  )
  return answers.map(({ body }) => body.id)
}

const own = { subject: { type: 'user', id: ada.id }, action: { name: 'note:read' } }
const question = { ...own, resource: { type: 'note', id: '1' } }

/** As a browser does that an application sends there. */
async function signInOnPages() {
  const pages = openPages(service)
  await pages.visit('/sign-in/?return_to=/docs')
  await pages.send({ email: ada.email })
  const { refresh } = await pages.send({ password: ada.password })
  return { status: refresh === '/docs' ? 200 : 400 }
}

/** Requests of a route, each as it is sent most often. */
const requests: Record<string, () => Promise<unknown>> = {
  'GET users/me': () => ada.get('/api/v1/users/me/'),
  'GET users': () => ada.get('/api/v1/users/'),
  'GET users, searched': () => ada.get('/api/v1/users/?search=a'),
  'GET tenants': () => ada.get('/api/v1/tenants/'),
  'GET tenants/:id': () => ada.get(`${tenant}/`),
  'GET members': () => ada.get(`${tenant}/members/`),
  'GET roles': () => ada.get(`${tenant}/roles/`),
  'GET roles/:rid': () => ada.get(`${tenant}/roles/${role.body.id}/`),
  'GET roles, with an API key': () => service.call('GET', `${tenant}/roles/`, { token: key.body.key }),
  'GET policies': () => ada.get('/api/v1/policies/'),
  'GET audit-log': () => ada.get('/api/v1/audit-log/'),
  'GET events': () => ada.get('/api/v1/events/'),
  'GET sessions': () => ada.get('/api/v1/auth/sessions/'),
  'POST evaluation, about oneself': () => ada.post('/access/v1/evaluation', question),
  'POST evaluation, about a word that nothing names': () =>
    ada.post('/access/v1/evaluation', { ...question, action: { name: 'note:raed' } }),
  'POST login': () => service.logIn(ada),
  'sign-in on the pages, from the address on': () => signInOnPages(),
  'POST refresh': async () => {
    const { body } = await service.call('POST', '/api/v1/auth/refresh/', { body: { refresh } })
    refresh = body.refresh
  },
  'POST switch-tenant': () => ada.switchTo(ada.tenantId),
  'POST switch-tenant, without refresh': () =>
    ada.post('/api/v1/auth/switch-tenant/', { tenant_id: ada.tenantId }),
  'POST roles': () => ada.post(`${tenant}/roles/`, { name: word() }),
  'POST roles, with Idempotency-Key': () => {
    const headers = { 'idempotency-key': `key-${Math.random()}` }
    return ada.post(`${tenant}/roles/`, { name: word() }, { headers })
  },
  'PATCH roles/:rid': () => ada.patch(`${tenant}/roles/${role.body.id}/`, { name: word() }),
  'DELETE roles/:rid': () => ada.delete(`${tenant}/roles/${spareRoles.pop()}/`),
  'POST departments': () => ada.post(`${tenant}/departments/`, { name: word() }),
  'PATCH departments/:did': () => ada.patch(`${tenant}/departments/${department.body.id}/`, { name: word() }),
  'DELETE departments/:did': () => ada.delete(`${tenant}/departments/${spareDepartments.pop()}/`),
  'POST attributes': () =>
    ada.post('/api/v1/attribute-definitions/', { category: 'subject', key: word(), data_type: 'string' }),
  'POST policies': () => ada.post('/api/v1/policies/', { name: word(), ...rule }),
  'PATCH policies/:pid': () => ada.patch(`/api/v1/policies/${policy.body.id}/`, { description: word() }),
  'PATCH members/:uid': () =>
    ada.patch(`${tenant}/members/${member.body.results[0].id}/`, { department_id: departments[moves++ % 2] }),
  'POST invitations': () =>
    ada.post(`${tenant}/invitations/`, { email: `${word()}@example.com`, roles: ['member'] }),
  'PATCH users/me': () => ada.patch('/api/v1/users/me/', { first_name: word() }),
  'PATCH tenants/:id': () => ada.patch(`${tenant}/`, { name: word() }),
  'POST token, with a code': () => token('authorization_code', codes.pop()!),
  'POST token, with a refresh token': () => token('refresh_token', { refresh_token: tokens.refresh_token! }),
  'POST token, as a machine': () => oidc.clientCredentialsGrant(machine.config),
  'GET userinfo': () => service.call('GET', '/oauth/userinfo', { token: tokens.access_token }),
  'POST introspect': () => asShop('introspect', { token: tokens.access_token! }),
  'POST keys': () => ada.post('/api/v1/users/me/keys/', { name: word() }),
}

/** The fewest round trips and statements of five runs: timers of the service can add their own to a run. */
async function costOf(send: () => Promise<unknown>): Promise<string> {
  const runs: { trips: number; statements: number }[] = []
  for (let run = 0; run < 6; run++) {
    const seen = { trips: 0, statements: 0 }
    const note = (statements: unknown) => {
      seen.trips++
      seen.statements += (statements as Statement[]).length
    }
    flushes.subscribe(note)
    const { status } = { status: 200, ...((await send()) as object) }
    flushes.unsubscribe(note)
    if (status >= 400) throw new Error(`A request was refused with ${status}`)
    if (run > 0) runs.push(seen) // the first one fills caches
  }
  const [best] = runs.sort((a, b) => a.trips - b.trips || a.statements - b.statements)
  return `${best!.trips} | ${best!.statements}`
}

t.test('each request takes as many round trips to Postgres as round-trips.md says', async (t) => {
  const rows: string[] = []
  const trips: Record<string, number> = {}
  for (const [name, send] of Object.entries(requests)) {
    const cost = await costOf(send)
    trips[name] = Number.parseInt(cost, 10)
    rows.push(`| ${name} | ${cost} |`)
  }
  const [byPages, byApi] = [trips['sign-in on the pages, from the address on']!, trips['POST login']!]
  t.ok(byPages <= byApi + 2, 'the pages take two more at most: they look for the domain of the address, too')
  t.same(
    [
      'POST token, with a code',
      'POST token, with a refresh token',
      'POST token, as a machine',
      'GET userinfo',
    ].map((name) => trips[name]),
    [2, 2, 2, 1],
    'an application asks for what it needs at once, and writes at once',
  )
  const found = [
    '# Round trips',
    '',
    'Round trips to Postgres and statements (with begin, scope and commit) of a request. Written by',
    '`UPDATE_TRIPS=1 npm test -- test/request/round-trips.test.ts`, so that a review shows the change.',
    '',
    '| Request | Round trips | Statements |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n')
  const file = new URL('round-trips.md', import.meta.url)
  if (process.env.UPDATE_TRIPS) writeFileSync(file, found)
  t.equal(found, readFileSync(file, 'utf8'))
})
