import t from 'tap'
import type { Statement } from '../../src/database/executor/flush.ts'
import { flushes } from '../../src/database/executor/pool.ts'
import { startService } from '../helpers/service.ts'
import { endSharedServices } from '../helpers/shared-service.ts'

await endSharedServices() // the tests count the statements of the whole process
const service = await startService(t, { workers: false })

/** How often policies were read while `work` ran. */
async function readsDuring(work: () => Promise<unknown>): Promise<number> {
  let reads = 0
  const note = (statements: unknown) => {
    for (const { text } of statements as Statement[]) if (/left join policies p on/.test(text)) reads++
  }
  flushes.subscribe(note)
  await work()
  flushes.unsubscribe(note)
  return reads
}

const together = <T>(count: number, send: () => Promise<T>) =>
  Promise.all(Array.from({ length: count }, send))

t.test('requests that come together after a change read the policies once', async (t) => {
  const ada = await service.signUp()
  const me = () => ada.get('/api/v1/users/me/')
  t.equal((await ada.post(`/api/v1/tenants/${ada.tenantId}/roles/`, { name: 'Reader' })).status, 201)
  let answers: { status: number }[] = []
  t.equal(
    await readsDuring(async () => {
      answers = await together(20, me)
    }),
    1,
  )
  t.same([...new Set(answers.map(({ status }) => status))], [200])
  t.equal(await readsDuring(() => together(20, me)), 0)
})

t.test('a caller who is refused does not cause a read with each request', async (t) => {
  const ada = await service.signUp()
  const ended = await service.logIn(ada)
  t.equal((await ended.post('/api/v1/auth/logout/', { refresh: ended.refresh })).status, 200)
  await ada.post(`/api/v1/tenants/${ada.tenantId}/roles/`, { name: 'Reader' })
  const refusals = async () => {
    for (let n = 0; n < 5; n++) t.equal((await ended.get('/api/v1/users/me/')).status, 401)
  }
  t.equal(await readsDuring(refusals), 1)
})

t.test('who shares the read of a request that fails reads the policies again', async (t) => {
  const ada = await service.signUp()
  await ada.post(`/api/v1/tenants/${ada.tenantId}/roles/`, { name: 'Reader' })
  const cursor = Buffer.from('{}').toString('base64url')
  const [broken, ...others] = await Promise.all([
    ada.get(`/api/v1/policies/?cursor=${cursor}`),
    ...Array.from({ length: 10 }, () => ada.get('/api/v1/users/me/')),
  ])
  t.equal(broken?.status, 400)
  t.same([...new Set(others.map(({ status }) => status))], [200])
})

t.test('policies that are written together are measured outside of their transactions', async (t) => {
  const ada = await service.signUp()
  const inTransaction: string[] = []
  const note = (statements: unknown) => {
    const texts = (statements as Statement[]).map(({ text }) => text)
    if (texts.some((text) => /left join policies p on/.test(text)) && !/read_only/.test(texts.join()))
      inTransaction.push(...texts)
  }
  flushes.subscribe(note)
  const rule = { effect: 'allow', actions: ['note:read'], resource_types: ['note'] }
  const written = await Promise.all(
    Array.from({ length: 8 }, (_, n) => ada.post('/api/v1/policies/', { name: `Notes ${n}`, ...rule })),
  )
  flushes.unsubscribe(note)
  t.same([...new Set(written.map(({ status }) => status))], [201])
  t.same(inTransaction, [])
  t.equal((await ada.get('/api/v1/policies/')).body.count, 8)
})

t.test('after a change only the policy that changed is read again', async (t) => {
  const ada = await service.signUp()
  const rule = { effect: 'deny', actions: ['note:read'], resource_types: ['note'] }
  const make = async (name: string) => (await ada.post('/api/v1/policies/', { name, ...rule })).body.id
  const [kept, changed] = [await make('Kept'), await make('Changed')]
  await ada.get('/api/v1/users/me/')
  await ada.patch(`/api/v1/policies/${changed}/`, { effect: 'allow', description: 'Changed' })
  const known: string[] = []
  const note = (statements: unknown) => {
    for (const { text, values } of statements as Statement[])
      if (/left join policies p on/.test(text)) known.push(values.join())
  }
  flushes.subscribe(note)
  const ask = {
    subject: { type: 'user', id: ada.id },
    action: { name: 'note:read' },
    resource: { type: 'note', id: '1' },
  }
  const { body } = await ada.post('/access/v1/evaluation', ask)
  flushes.unsubscribe(note)
  t.match(known.join(), kept, 'the reader names the version that it has')
  t.match(body.context.reasons, [{ code: 'policy_deny', policy_id: kept }])
  await ada.delete(`/api/v1/policies/${kept}/`)
  t.match((await ada.post('/access/v1/evaluation', ask)).body.decision, true)
})
