import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type pg from 'pg'
import t from 'tap'
import { colleague } from '../helpers/colleague.ts'
import { disposableDatabase } from '../helpers/database.ts'
import { sharedService } from '../helpers/shared-service.ts'

const root = join(import.meta.dirname, '..', '..')
const page = readFileSync(join(root, 'docs/how-to/list-what-a-person-may-see.md'), 'utf8')

interface Example {
  newestInvoices(key: string, member: { sub: string; tenant_id: string }): Promise<{ title: string }[]>
  database: pg.Pool
}

t.test('the code of the page lists what evaluations permit', async (t) => {
  const [, code = ''] = /^```ts\n(.*?)\n```$/ms.exec(page) ?? []
  const client = pathToFileURL(join(root, 'packages/client/exports.ts')).href
  const folder = t.testdir({
    'invoices.ts': code
      .replace('@bailiwick/client', client)
      .replace('const database', 'export const database'),
  })
  const service = await sharedService(t, { workers: false })
  const { urls, drop } = await disposableDatabase({ migrated: false })
  t.teardown(drop)
  process.env.BAILIWICK_URL = service.url
  process.env.DATABASE_URL = urls.superuser
  t.teardown(() => {
    delete process.env.BAILIWICK_URL
    delete process.env.DATABASE_URL
  })
  const { newestInvoices, database }: Example = await import(join(folder, 'invoices.ts'))
  database.on('error', () => undefined) // a pool ends before its connections do, and the database is dropped then
  t.teardown(() => database.end())

  const owner = await service.signUp()
  const member = await colleague(service, owner)
  await owner.post('/api/v1/attribute-definitions/', {
    ...{ category: 'resource', key: 'amount', data_type: 'integer', display_name: 'Amount' },
  })
  const policy = { name: 'Own', effect: 'allow', actions: ['invoice:read'] }
  const own = { attribute: 'resource.owner_id', operator: 'eq', value_from: 'subject.id' }
  await owner.post('/api/v1/policies/', { ...policy, conditions: own })
  const large = { attribute: 'resource.amount', operator: 'gt', value: 1_000 }
  await owner.post('/api/v1/policies/', { ...policy, name: 'Large', effect: 'deny', conditions: large })
  const roles = { name: 'Planner', permissions: ['access:evaluate'] }
  await owner.post(`/api/v1/tenants/${owner.tenantId}/roles/`, roles)
  const account = await owner.post('/api/v1/service-accounts/', { name: 'Invoices', roles: ['Planner'] })
  const keys = `/api/v1/service-accounts/${account.body.id}/keys/`
  const { key } = (await owner.post(keys, { name: 'server' })).body

  await database.query(`create table invoices (id uuid default gen_random_uuid(), tenant_id uuid, owner_id uuid,
    department_id uuid, status text, amount bigint, title text, created_at timestamptz)`)
  const invoice = (title: string, tenant: string, by: string, amount: number | null, day: number) =>
    database.query(
      `insert into invoices (title, tenant_id, owner_id, amount, created_at) values ($1, $2, $3, $4, make_timestamptz(2026, 1, $5, 0, 0, 0))`,
      [title, tenant, by, amount, day],
    )
  await invoice('older', owner.tenantId, member.id, 5, 1)
  await invoice('newer', owner.tenantId, member.id, 1_000, 2)
  await invoice('large', owner.tenantId, member.id, 1_001, 3)
  await invoice('of unknown amount', owner.tenantId, member.id, null, 4)
  await invoice('of another person', owner.tenantId, owner.id, 5, 5)
  await invoice('of another tenant', member.id, member.id, 5, 6)
  const found = await newestInvoices(key, { sub: member.id, tenant_id: owner.tenantId })
  t.strictSame(
    found.map(({ title }) => title),
    ['newer', 'older'],
  )
  t.strictSame(
    await newestInvoices(key, { sub: member.email, tenant_id: owner.tenantId }),
    [],
    'not verified',
  )
})
