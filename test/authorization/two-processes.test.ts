import t from 'tap'
import { createLogger } from '../../src/observe/log.ts'
import { serveApi } from '../../src/start/serve.ts'
import { cheapHashing, startService } from '../helpers/service.ts'

const service = await startService(t)
const other = await serveApi({ ...service.deps.config, PORT: 0 }, createLogger('silent', false), {
  clock: service.now,
  hashing: cheapHashing,
})
t.teardown(() => other.stop())

t.test('a change of policies applies to the next request of every process', async (t) => {
  const owner = await service.signUp()
  const elsewhere = async () => {
    const url = new URL(`/api/v1/tenants/${owner.tenantId}/members/`, other.url)
    const response = await fetch(url, { headers: { authorization: `Bearer ${owner.access}` } })
    await response.arrayBuffer()
    return response.status
  }
  const { body: policy } = await owner.post('/api/v1/policies/', {
    name: 'On and off',
    effect: 'deny',
    actions: ['member:list'],
    is_active: false,
  })
  t.equal(await elsewhere(), 200)
  const url = `/api/v1/policies/${policy.id}/`
  const seen: number[] = []
  for (let turn = 0; turn < 40; turn++) {
    t.equal((await owner.put(url, { is_active: turn % 2 === 0 })).status, 200)
    seen.push(await elsewhere())
  }
  t.same(
    seen,
    Array.from({ length: 40 }, (_, turn) => (turn % 2 === 0 ? 403 : 200)),
  )
})

t.test('simultaneous changes are not lost: each is a version', async (t) => {
  const owner = await service.signUp()
  const url = '/api/v1/policies/'
  const { body: policy } = await owner.post(url, { name: 'x', effect: 'deny', actions: ['doc:read'] })
  const answers = await Promise.all(
    Array.from({ length: 4 }, (_, n) => owner.patch(`${url}${policy.id}/`, { priority: n })),
  )
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 200, 200],
  )
  t.same(answers.map(({ body }) => body.version).sort(), [2, 3, 4, 5])
})

t.test('of two simultaneous changes of the same version, one is 412', async (t) => {
  const owner = await service.signUp()
  const url = '/api/v1/policies/'
  const { body: policy } = await owner.post(url, { name: 'x', effect: 'deny', actions: ['doc:read'] })
  const read = await owner.get(`${url}${policy.id}/`)
  t.equal(read.headers.get('etag'), '"1"')
  const headers = { 'if-match': '"1"' }
  const answers = await Promise.all(
    [1, 2].map((priority) => owner.put(`${url}${policy.id}/`, { priority }, { headers })),
  )
  t.same(answers.map(({ status }) => status).sort(), [200, 412])
  t.equal((await owner.delete(`${url}${policy.id}/`, { headers })).status, 412)
  t.equal((await owner.delete(`${url}${policy.id}/`, { headers: { 'if-match': '"2"' } })).status, 204)
})

t.test('an attribute is either deleted or named by a new policy, never both', async (t) => {
  const owner = await service.signUp()
  for (let n = 0; n < 5; n++) {
    const definition = { key: `k${n}`, category: 'subject', data_type: 'string' }
    const { body } = await owner.post('/api/v1/attribute-definitions/', definition)
    const conditions = { attribute: `subject.k${n}`, operator: 'exists' }
    const [made, gone] = await Promise.all([
      owner.post('/api/v1/policies/', { name: 'x', effect: 'allow', actions: ['doc:read'], conditions }),
      owner.delete(`/api/v1/attribute-definitions/${body.id}/`),
    ])
    t.ok(
      (made.status === 201 && gone.status === 409) || (made.status === 422 && gone.status === 204),
      `${made.status} ${gone.status}`,
    )
  }
})
