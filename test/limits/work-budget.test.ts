import t from 'tap'
import { createWorkBudget, workLimits } from '../../src/limits/work-budget.ts'

let now = 0
let rate = 1
const limit = { ...workLimits.modules, windowMs: 60_000, person: 20_000, tenant: 30_000, process: 40_000 }
const newBudget = (more: object = {}) => {
  now = 0
  const clocks = { now: () => now, processor: () => now * rate }
  return createWorkBudget({ ...workLimits, modules: { ...limit, ...more } }, clocks)
}
const by = (userId: string, tenantId = `tenant of ${userId}`) => ({ userId, tenantId })
const taking = (ms: number) => async () => {
  now += ms
}
const tooCostly = { status: 503, code: 'too_costly' }

t.test('a person has one budget over all their tenants', async (t) => {
  const { inTurn } = newBudget()
  await inTurn('modules', by('one', 'a'), taking(10_000))
  await t.rejects(
    inTurn('modules', by('one', 'b'), async () => {
      now += 10_000
      throw new Error('it does not compile')
    }),
    /does not compile/,
  )
  await t.rejects(inTurn('modules', by('one', 'c'), taking(1)), {
    ...tooCostly,
    headers: { 'Retry-After': '40' },
  })
  await inTurn('modules', by('two', 'a'), taking(1))
  await inTurn('patterns', by('one'), taking(1))
  now = 60_000
  await inTurn('modules', by('one', 'c'), taking(1))
})

t.test('work of processors counts by their time, and reads of the database by real time', async (t) => {
  const { inTurn } = newBudget()
  rate = 0.1
  t.teardown(() => {
    rate = 1
  })
  for (let time = 0; time < 3; time++) await inTurn('modules', by('one'), taking(10_000))
  await inTurn('reads', by('one'), taking(20_000))
  await t.rejects(inTurn('reads', by('one'), taking(1)), tooCostly)
})

t.test('the people of a tenant share its budget', async (t) => {
  const { inTurn } = newBudget()
  await inTurn('modules', by('one', 'a'), taking(15_000))
  await inTurn('modules', by('two', 'a'), taking(15_000))
  await t.rejects(inTurn('modules', by('three', 'a'), taking(1)), tooCostly)
  await inTurn('modules', by('three', 'b'), taking(1))
})

t.test('one person leaves a quarter of the budget of a tenant to its others', async (t) => {
  const { inTurn } = newBudget({ person: 30_000, tenant: 30_000, process: 90_000 })
  await inTurn('modules', by('one', 'a'), taking(22_500))
  await t.rejects(inTurn('modules', by('one', 'a'), taking(1)), tooCostly)
  await inTurn('modules', by('two', 'a'), taking(7_500))
  await t.rejects(inTurn('modules', by('three', 'a'), taking(1)), tooCostly)
  await inTurn('modules', by('one', 'b'), taking(1))
})

t.test('when the time of the process is used up, those who took little go on', async (t) => {
  const { inTurn } = newBudget({ person: 39_000, process: 30_000 })
  await inTurn('modules', by('many'), taking(30_000))
  await t.rejects(inTurn('modules', by('many'), taking(1)), tooCostly)
  await inTurn('modules', by('few'), taking(1_000))
  await inTurn('modules', by('few'), taking(1_000))
})

t.test('of those who wait, the person who took the least time is next', async (t) => {
  const { inTurn } = newBudget()
  const order: string[] = []
  const release = Promise.withResolvers<void>()
  const first = inTurn('modules', by('many'), async () => {
    now += 5_000
    await release.promise
  })
  const note = (name: string) => async () => {
    order.push(name)
  }
  const others = [
    inTurn('modules', by('many'), note('many')),
    inTurn('modules', by('few'), note('few')),
    inTurn('modules', by('few', 'another'), note('few again')),
    inTurn('modules', null, note('installation')),
  ]
  release.resolve()
  await Promise.all([first, ...others])
  t.same(order, ['installation', 'few', 'few again', 'many'])
})

t.test('a person with too much waiting work is refused, and others are not', async (t) => {
  const { inTurn } = newBudget({ maxWaiting: 2 })
  const release = Promise.withResolvers<void>()
  const many = [1, 2, 3].map(() => inTurn('modules', by('many'), () => release.promise))
  await t.rejects(inTurn('modules', by('many', 'another'), taking(1)), { status: 503, code: 'overloaded' })
  const few = inTurn('modules', by('few'), taking(1))
  release.resolve()
  await Promise.all([...many, few])
})

t.test('work that does not wait is refused when it is not its turn', async (t) => {
  const { inTurn } = newBudget()
  const release = Promise.withResolvers<void>()
  const running = inTurn('modules', by('one'), () => release.promise)
  const once = () => inTurn('modules', by('two'), taking(1), { waits: false })
  await t.rejects(once(), { status: 503, code: 'overloaded' })
  release.resolve()
  await running
  await once()
})

t.test('a person and a tenant have few pieces of work at a time', async (t) => {
  const { inTurn } = newBudget({ atATime: 3 })
  const release = Promise.withResolvers<void>()
  const running: string[] = []
  const begin = (name: string, userId: string, tenantId: string) =>
    inTurn('modules', by(userId, tenantId), () => {
      running.push(name)
      return release.promise
    })
  const all = [
    begin('first', 'one', 'a'),
    begin('same person', 'one', 'b'),
    begin('same tenant', 'two', 'a'),
    begin('another', 'three', 'c'),
  ]
  t.same(running, ['first', 'another'])
  release.resolve()
  await Promise.all(all)
  t.equal(running.length, 4)
})
