import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import type { Route } from '../../src/request/route.ts'
import { listRoutes } from '../../src/start/app.ts'
import type { Call } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'
import { expect, foundFirm } from './staff.ts'

// The access matrix: every route of tenancy, requested by every kind of caller. The answers are stored in matrix.txt, so
// that a review shows every change of access. UPDATE_MATRIX=1 writes it again. Invitations have tests of their own.

const service = await sharedService(t, { workers: false })
const firm = await foundFirm(service)
const { id, path, owner, hire } = firm
const second = await hire('owner')

const suspended = await hire('admin')
await expect(200, owner.put(`${path}/members/${suspended.memberId}/`, { status: 'suspended' }))
const removed = await hire('admin')
await expect(204, owner.delete(`${path}/members/${removed.memberId}/`))
const elsewhere = await hire('admin')
const { id: other } = await expect(201, elsewhere.post('/api/v1/tenants/', { name: 'Elsewhere' }))
await elsewhere.switchTo(other)

const asking: Record<string, { access: string } | undefined> = {
  nobody: undefined,
  stranger: await service.signUp(),
  removed,
  suspended,
  elsewhere,
  custom: await hire(await firm.role('department:create')),
  member: await hire('member'),
  auditor: await hire('auditor'),
  admin: await hire('admin'),
  owner,
}

let made = 0
const accounts = '/api/v1/service-accounts'
const trust = { issuer: 'https://x.example', claims: { sub: 'a:b' }, scopes: ['member:list'] }
/** Creates new objects for each request, so that no answer depends on the previous one. */
const targets: Record<string, () => Promise<string>> = {
  mid: async () => {
    const { id: user_id } = await service.register()
    return (await expect(201, second.post(`${path}/members/`, { user_id }))).id
  },
  rid: async () => (await expect(201, second.post(`${path}/roles/`, { name: `Target ${++made}` }))).id,
  // A key comes with an account of its own, so the two are one parameter.
  'sid/keys/:kid': async () => {
    const account = await targets.sid!()
    const { id } = await expect(201, second.post(`${accounts}/${account}/keys/`, { name: 'Target' }))
    return `${account}/keys/${id}`
  },
  'sid/trusts/:tid': async () => {
    const account = await targets.sid!()
    const { id } = await expect(201, second.post(`${accounts}/${account}/trusts/`, trust))
    return `${account}/trusts/${id}`
  },
  sid: async () => (await expect(201, second.post(`${accounts}/`, { name: `Target ${++made}` }))).id,
  did: async () => (await expect(201, second.post(`${path}/departments/`, { name: `Target ${++made}` }))).id,
}

const bodies: Record<string, () => Promise<object> | object> = {
  'POST /api/v1/tenants': () => ({ name: 'Another' }),
  'POST /api/v1/tenants/:id/members': async () => ({ user_id: (await service.register()).id }),
  'POST /api/v1/tenants/:id/roles': () => ({ name: `Made ${++made}` }),
  'POST /api/v1/tenants/:id/departments': () => ({ name: 'Made' }),
  'POST /api/v1/service-accounts': () => ({ name: 'Made' }),
  'POST /api/v1/service-accounts/:id/keys': () => ({ name: 'Made' }),
  'POST /api/v1/service-accounts/:id/trusts': () => trust,
}

const routes = listRoutes(service.deps, {} as never).filter(
  ({ path }) =>
    (path.startsWith('/api/v1/tenants') && !path.includes('/invitations')) || path.startsWith(accounts),
)
const nameOf = ({ method, path }: Route) => `${method} ${path}`
const isLast = (route: Route) => nameOf(route) === 'DELETE /api/v1/tenants/:id'

async function ask(route: Route, asker: { access: string } | undefined) {
  let address = route.path.replace(`${accounts}/:id`, `${accounts}/:sid`).replace(':id', id)
  for (const [param, make] of Object.entries(targets))
    if (address.includes(`:${param}`)) address = address.replace(`:${param}`, await make())
  const body = route.method === 'GET' ? undefined : await (bodies[nameOf(route)]?.() ?? {})
  const call: Call = { token: asker?.access, body }
  const answer = await service.call(route.method, `${address}/`, call)
  if (/\/(suspend|archive)$/.test(route.path)) await expect(200, second.post(`${path}/activate/`))
  return answer.status < 300 ? `${answer.status}` : `${answer.status} ${answer.body.code}`
}

t.test('every route of tenancy answers each caller as matrix.txt says', async (t) => {
  const lines: string[] = []
  let asked = 0
  for (const route of [...routes.filter((route) => !isLast(route)), ...routes.filter(isLast)]) {
    const answers = new Map<string, string[]>()
    for (const [name, asker] of Object.entries(asking)) {
      const answer = await ask(route, asker)
      answers.set(answer, [...(answers.get(answer) ?? []), name])
      asked++
    }
    lines.push(nameOf(route), ...[...answers].map(([answer, names]) => `  ${answer}: ${names.join(', ')}`))
  }
  const file = new URL('matrix.txt', import.meta.url)
  const found = `${lines.join('\n')}\n`
  if (process.env.UPDATE_MATRIX) await writeFile(file, found)
  t.equal(found, await readFile(file, 'utf8'), 'UPDATE_MATRIX=1 writes matrix.txt again')
  t.equal(asked, 440, 'routes × callers')
})
