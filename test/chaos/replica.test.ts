import t from 'tap'
import { createLogger } from '../../src/observe/log.ts'
import { serveApi } from '../../src/start/serve.ts'
import { useProductionTimeouts } from '../helpers/database.ts'
import { query } from '../helpers/query.ts'
import { atPort, startTwoServers } from './two-servers.ts'

// own process: it stops a server

// Feeds are read from a replica, whose replay is stopped to see which server answers. Who may read them is read from the
// primary.

useProductionTimeouts(t)
const { config, standby } = await startTwoServers(t, {})
const DATABASE_READ_URL = atPort(config.DATABASE_API_URL!, standby.port)
const serving = await serveApi({ ...config, DATABASE_READ_URL }, createLogger('silent', false))
t.teardown(() => serving.stop())

const call = async (method: string, path: string, token = '', body?: object) => {
  const answer = await fetch(`${serving.url}/api/v1/${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, body: text && JSON.parse(text) }
}
const person = { email: 'ada@example.com', password: 'a quiet harbour' }
await call('POST', 'auth/register/', '', person)
const { access } = (await call('POST', 'auth/login/', '', person)).body
const tenantId = JSON.parse(Buffer.from(access.split('.')[1], 'base64url').toString()).tenant_id
const departments = `tenants/${tenantId}/departments/`
const audited = async () => {
  const { status, body } = await call('GET', 'audit-log/?action=department:create', access)
  t.equal(status, 200)
  return body.results.length
}
const create = async (name: string) =>
  t.equal((await call('POST', departments, access, { name })).status, 201)

t.test('the audit log comes from the replica, lists of what can change from the primary', async (t) => {
  await create('Before')
  while ((await audited()) !== 1) await new Promise((done) => setTimeout(done, 20))
  await query(standby.url, 'select pg_wal_replay_pause()')
  await create('After')
  t.equal((await call('GET', departments, access)).body.count, 2)
  t.equal(await audited(), 1, 'the replica has not replayed the second row')
  await query(standby.url, 'select pg_wal_replay_resume()')
  while ((await audited()) !== 2) await new Promise((done) => setTimeout(done, 20))
})

t.test('a session that ended on the primary reads nothing, although the replica does not know', async (t) => {
  const other = (await call('POST', 'auth/login/', '', person)).body
  await query(standby.url, 'select pg_wal_replay_pause()')
  t.equal((await call('POST', 'auth/logout/', other.access, { refresh: other.refresh })).status < 300, true)
  t.equal((await call('GET', 'audit-log/', other.access)).status, 401)
  await query(standby.url, 'select pg_wal_replay_resume()')
})

t.test('while the replica is away, the primary answers', async (t) => {
  await standby.stop()
  await create('Alone')
  t.equal(await audited(), 3)
})
