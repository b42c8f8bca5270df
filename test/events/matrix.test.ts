import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import type { Route } from '../../src/request/route.ts'
import { listRoutes } from '../../src/start/app.ts'
import { startService } from '../helpers/service.ts'
import { expect, foundFirm, look } from '../tenancy/staff.ts'

// The access matrix of events, webhooks and the audit log: every route, requested by every kind of caller. UPDATE_MATRIX=1
// writes matrix.txt again, so that a review shows changes.

const service = await startService(t, { workers: false, env: { LIMIT_WEBHOOKS: '1000' } })
const { path, owner, hire, role } = await foundFirm(service)
const all = '/api/v1/webhooks/'
const url = 'https://receiver.example/events'

const suspended = await hire('admin')
await expect(200, owner.put(`${path}/members/${suspended.memberId}/`, { status: 'suspended' }))
const removed = await hire('admin')
await expect(204, owner.delete(`${path}/members/${removed.memberId}/`))

const asking: Record<string, { access: string } | undefined> = {
  nobody: undefined,
  stranger: await service.signUp(),
  removed,
  suspended,
  custom: await hire(await role('event:list', 'webhook:list')),
  member: await hire('member'),
  auditor: await hire('auditor'),
  admin: await hire('admin'),
  owner,
}

const routes = listRoutes(service.deps, {} as never).filter(({ path }) =>
  /^\/api\/v1\/(events|webhooks|audit-log|activity)/.test(path),
)

/** The URL of a route, for a new webhook of the firm with a dead delivery. */
async function addressOf({ path }: Route): Promise<string> {
  if (!path.includes(':')) return `${path}/`
  const { id } = await expect(201, owner.post(all, { url }))
  const { delivery_id: did } = await expect(200, owner.post(`${all}${id}/test/`))
  const end = "status = 'dead', ended_at = created_at, next_attempt_at = null"
  await look(service, `update webhook_deliveries set ${end} where id = '${did}'`)
  return `${path.replace(':id', id).replace(':did', did)}/`
}

async function ask(route: Route, asker: { access: string } | undefined): Promise<string> {
  const body = route.method === 'GET' ? undefined : { url }
  const address = await addressOf(route)
  const { status, body: answer } = await service.call(route.method, address, { token: asker?.access, body })
  return status < 300 ? `${status}` : `${status} ${answer.code}`
}

t.test('every route of events answers each caller as matrix.txt says', async (t) => {
  const lines: string[] = []
  for (const route of routes) {
    const answers = new Map<string, string[]>()
    for (const [name, asker] of Object.entries(asking)) {
      const answer = await ask(route, asker)
      answers.set(answer, [...(answers.get(answer) ?? []), name])
    }
    const told = [...answers].map(([answer, names]) => `  ${answer}: ${names.join(', ')}`)
    lines.push(`${route.method} ${route.path}`, ...told)
  }
  const file = new URL('matrix.txt', import.meta.url)
  const found = `${lines.join('\n')}\n`
  if (process.env.UPDATE_MATRIX) await writeFile(file, found)
  t.equal(found, await readFile(file, 'utf8'), 'UPDATE_MATRIX=1 writes matrix.txt again')
  t.equal(routes.length, 13)
})
