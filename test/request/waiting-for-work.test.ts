import t from 'tap'
import { createKeyedSemaphore } from '../../src/limits/keyed-semaphore.ts'
import { workBudget } from '../../src/limits/work-budget.ts'
import { startService } from '../helpers/service.ts'
import { foundFirm } from '../tenancy/staff.ts'

const service = await startService(t, { workers: false, env: { DATABASE_POOL_SIZE: '2' } })

const withPattern = (n: number) => ({
  name: `Policy ${n}`,
  effect: 'deny',
  actions: ['doc:read'],
  conditions: { attribute: 'subject.email', operator: 'matches', value: `^${'a'.repeat(n + 1)}$` },
})

t.test(
  'requests that wait for their turn of costly work keep no other member of the tenant waiting',
  async (t) => {
    const { owner, path, hire } = await foundFirm(service)
    const member = await hire('admin')
    const release = Promise.withResolvers<void>()
    const held = workBudget.inTurn('patterns', null, () => release.promise)
    const writes = [0, 1, 2, 3].map((n) => owner.post('/api/v1/policies/', withPattern(n)))
    for (let n = 0; n < 5; n++) t.match(await member.get(`${path}/members/`), { status: 200 })
    release.resolve()
    await held
    for (const write of writes) t.match(await write, { status: 201 })
  },
)

t.test('work that goes on waits again for its turn', async (t) => {
  const turn = createKeyedSemaphore({ maxConcurrent: 1, maxWaiting: 9, maxWaitMs: 60_000 })
  const [part, other] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const order: string[] = []
  const first = turn('key', async (outside) => {
    await outside(() => part.promise)
    order.push('first goes on')
    return 'done'
  })
  const second = turn('key', async () => {
    order.push('second')
    await other.promise
    order.push('second ends')
  })
  part.resolve()
  await new Promise((resolve) => setImmediate(resolve))
  other.resolve()
  t.equal(await first, 'done')
  await second
  t.same(order, ['second', 'second ends', 'first goes on'])
  await t.rejects(
    turn('key', (outside) => outside(() => Promise.reject(new Error('no')))),
    /no/,
  )
  t.equal(await turn('key', async () => 'free'), 'free', 'no turn is lost')
})
