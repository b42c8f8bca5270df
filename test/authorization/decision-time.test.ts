import t from 'tap'
import { measurePatterns } from '../../src/authorization/policies/measure-patterns.ts'
import { decisionPace, limitDecisionTime } from '../../src/limits/decision-time.ts'
import { openAccessEngine } from '../../src/policy-engine/evaluate/engine.ts'
import { roleQuery } from '../../src/policy-engine/opa/role-table.ts'
import { startService } from '../helpers/service.ts'

const service = await startService(t, {
  workers: false,
  env: { LIMIT_DECISION_MS_PER_SECOND: '1', LIMIT_DECISION_MS_PER_REQUEST: '1' },
})
const policies = '/api/v1/policies/'

t.test(
  'a tenant whose decisions take too long has to wait; its owner’s repair and other tenants do not',
  async (t) => {
    const [owner, other] = [await service.signUp(), await service.signUp()]
    const members = `/api/v1/tenants/${owner.tenantId}/members/`
    let refused = await owner.get(members)
    for (let time = 0; time < 500 && refused.status === 200; time++)
      refused = (await Promise.all(Array.from({ length: 10 }, () => owner.get(members)))).at(-1)!
    t.match(refused, { status: 503, body: { code: 'too_costly' } })
    t.equal(refused.headers.get('retry-after'), '1')
    for (let time = 0; time < 5; time++) t.equal((await owner.get(policies)).status, 200)
    t.equal((await other.get('/api/v1/users/me/')).status, 200)
  },
)

const clocksAt = (now: () => number) => ({ now, processor: now })

t.test('the budget counts per tenant and second', async (t) => {
  let now = 1_000
  const engine = await openAccessEngine()
  const slow = {
    ...engine,
    decide: (query: Parameters<typeof engine.decide>[0]) => {
      now += 30
      return engine.decide(query)
    },
  }
  const { decide } = limitDecisionTime(
    slow,
    50,
    clocksAt(() => now),
  )
  const query = roleQuery('member:list', ['owner'], 'me')
  const repair = roleQuery('policy:list', ['owner'], 'me')
  t.equal(decide(query).effect, 'allow')
  t.equal(decide(query).effect, 'allow')
  t.throws(() => decide(query), { status: 503, code: 'too_costly' })
  t.equal(decide(repair).effect, 'allow')
  t.throws(() => decide(roleQuery('policy:list', ['admin'], 'me')), { code: 'too_costly' })
  now = 2_000
  t.equal(decide(query).effect, 'allow')
})

t.test('a machine that has little time for the process does not use up its limits', async (t) => {
  let now = 1_000
  const engine = await openAccessEngine()
  const slow = {
    ...engine,
    decide: (query: Parameters<typeof engine.decide>[0]) => {
      now += 30
      return engine.decide(query)
    },
  }
  const clocks = { now: () => now, processor: () => now / 10 }
  const { decide } = limitDecisionTime(slow, 50, clocks)
  const pace = decisionPace(50, clocks)
  for (let time = 0; time < 12; time++) {
    await pace.next()
    t.equal(decide(roleQuery('member:list', ['owner'], 'me')).effect, 'allow')
  }
  await t.rejects(
    async () => {
      for (;;) {
        await pace.next()
        now += 30
      }
    },
    { code: 'too_costly' },
  )
})

t.test('the decisions of a request yield every 5 ms, and end at their limit', async (t) => {
  let [now, turns] = [0, 0]
  const count = () => {
    turns++
    waiting = setImmediate(count)
  }
  let waiting = setImmediate(count)
  t.teardown(() => clearImmediate(waiting))
  const pace = decisionPace(
    100,
    clocksAt(() => now),
  )
  for (let time = 0; time < 9; time++) {
    await pace.next()
    now += 2
  }
  t.ok(turns >= 2 && turns <= 4, `${turns} turns in 18 ms`)
  const rest = async () => {
    for (let time = 0; time < 60; time++) {
      await pace.next()
      now += 2
    }
  }
  await t.rejects(rest(), { status: 503, code: 'too_costly' })
})

t.test(
  'of several requests with many decisions, one begins or continues in each turn of the event loop',
  async (t) => {
    let now = 0
    const inTurns: number[] = []
    let turn = 0
    const count = () => {
      turn++
      waiting = setImmediate(count)
    }
    let waiting = setImmediate(count)
    t.teardown(() => clearImmediate(waiting))
    const decide = async () => {
      const pace = decisionPace(
        1_000,
        clocksAt(() => now),
      )
      for (let time = 0; time < 5; time++) {
        await pace.next()
        inTurns.push(turn)
        now += 5
      }
    }
    await Promise.all(Array.from({ length: 8 }, decide))
    const most = Math.max(...inTurns.map((turn) => inTurns.filter((other) => other === turn).length))
    t.ok(most <= 2, `${most} decisions in one turn`)
  },
)

t.test('measuring patterns does not block the event loop', async (t) => {
  let turns = 0
  const counting = setInterval(() => turns++, 1)
  t.teardown(() => clearInterval(counting))
  const matches = (value: string) => ({ attribute: 'subject.email', operator: 'matches', value })
  const conditions = {
    any: [matches('^a+$'), { all: [matches('['), matches('(?i)\\pL{299}'), matches('b')] }],
  }
  // No other file measures this expensive pattern, so it is not in the cache that files of one process share.
  const costUs = await measurePatterns(conditions, null)
  t.ok(turns > 10, `${turns} turns`)
  t.ok((costUs('^a+$') ?? Infinity) < 200)
  t.equal(costUs('['), undefined)
  t.ok((costUs('(?i)\\pL{299}') ?? 0) > 200)
  t.equal(costUs('b'), 0, 'nothing is measured after a pattern that is too expensive')
  const again = await measurePatterns({ any: [matches('(?i)\\pL{299}'), matches('c')] }, null)
  t.equal(again('c'), 0, 'also if that pattern was measured before')
  t.equal((await measurePatterns(matches('^a+$'), null))('unknown'), Infinity)
})

t.test('the patterns of one author do not delay those of others', async (t) => {
  const measure = (pattern: string, author: string) =>
    measurePatterns(
      { attribute: 'subject.email', operator: 'matches', value: pattern },
      { userId: author, tenantId: author },
    )
  const many = Promise.allSettled(Array.from({ length: 25 }, (_, n) => measure(`^many${n}$`, 'many')))
  t.ok(((await measure('^one$', 'one'))('^one$') ?? Infinity) < 200, 'it is measured')
  const refused = (await many).filter(({ status }) => status === 'rejected')
  t.ok(refused.length >= 19, `${refused.length} of the other author are refused`)
})
