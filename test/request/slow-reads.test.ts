import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Statement } from '../../src/database/executor/flush.ts'
import { flushes } from '../../src/database/executor/pool.ts'
import { workBudget } from '../../src/limits/work-budget.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t, { workers: false })

/** The texts of the statements of each flush while `work` runs. */
async function flushesDuring(work: () => Promise<{ status: number }>): Promise<string[]> {
  const seen: string[] = []
  const note = (statements: unknown) => {
    seen.push((statements as Statement[]).map(({ text }) => text).join(';'))
  }
  flushes.subscribe(note)
  t.equal((await work()).status, 200)
  flushes.unsubscribe(note)
  return seen
}

const isAuth = (text: string) => /from memberships m/.test(text) && /sessions/.test(text)

t.test('the counts of a week are not read on the connection that other tenants read on', async (t) => {
  const ada = await service.signUp()
  await ada.get('/api/v1/users/me/')
  const seen = await flushesDuring(() => ada.get('/api/v1/activity/'))
  const counting = seen.filter((text) => /generate_series\(0, 6\)/.test(text))
  t.equal(counting.length, 1)
  t.notOk(counting.some(isAuth), 'it is read after the caller was permitted')
})

t.test(
  'a question looks at the permissions of all roles once, and only for a word that no policy names',
  async (t) => {
    const ada = await service.signUp()
    const rule = { effect: 'allow', actions: ['note:read'], resource_types: ['note'] }
    await ada.post('/api/v1/policies/', { name: 'Notes', ...rule })
    await ada.post(`/api/v1/tenants/${ada.tenantId}/roles/`, { name: 'Reader', permissions: ['page:read'] })
    const ask = (name: string, type: string) =>
      ada.post('/access/v1/evaluation', {
        subject: { type: 'user', id: ada.id },
        action: { name },
        resource: { type, id: '1' },
      })
    const looks = async (name: string, type: string) => {
      const seen = await flushesDuring(() => ask(name, type))
      return seen.filter((text) => /unnest\(r\.permissions\)/.test(text)).length
    }
    t.equal(await looks('note:read', 'note'), 0)
    t.equal(await looks('page:read', 'page'), 1)
    t.equal(await looks('page:read', 'page'), 0)
    t.match((await ask('page:read', 'page')).body.context, {
      unknown_action: false,
      unknown_resource_type: false,
    })
    t.match((await ask('page:raed', 'page')).body.context, {
      unknown_action: true,
      unknown_resource_type: false,
    })
    t.match((await ask('pages:read', 'pages')).body.context, {
      unknown_action: true,
      unknown_resource_type: true,
    })
    const { promise: holding, resolve: release } = Promise.withResolvers<void>()
    const other = { userId: randomUUID(), tenantId: ada.tenantId }
    const held = workBudget.inTurn('reads', other, () => holding)
    t.equal(await looks('ship:steer', 'ship'), 1, 'it does not wait for longer reads of the tenant')
    release()
    await held
  },
)

t.test(
  'equal questions have equal hints, also while the names of other questions are looked up',
  async (t) => {
    const ada = await service.signUp()
    const ask = async (name: string) => {
      const subject = { type: 'user', id: ada.id }
      const question = { subject, action: { name }, resource: { type: 'page', id: '1' } }
      const { body } = await ada.post('/access/v1/evaluation', question)
      return { ...body.context, id: '' }
    }
    const { promise: holding, resolve: release } = Promise.withResolvers<void>()
    const held = workBudget.inTurn('words', { userId: ada.id, tenantId: ada.tenantId }, () => holding)
    const asked = ['read', 'write', 'read'].map(ask)
    await sleep(100)
    release()
    await held
    const [first, , third] = await Promise.all(asked)
    t.same(third, first)
    t.match(await ask('read'), { ...first, unknown_action: true, unknown_resource_type: true })
  },
)
