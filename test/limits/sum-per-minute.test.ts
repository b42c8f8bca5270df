import t from 'tap'
import { sumPerMinute } from '../../src/limits/sum-per-minute.ts'

t.test('the first sum of a key is emitted at once, and the rest when its minute is over', async (t) => {
  const emitted: [string, number][] = []
  const timers: { end: () => void; ms: number }[] = []
  const sum = sumPerMinute<{ count: number }>(
    (key, { count }) => emitted.push([key, count]),
    (end, ms) => {
      timers.push({ end, ms })
      return setTimeout(() => undefined, 0)
    },
  )
  sum('a', { count: 1 }, 0)
  sum('a', { count: 2 }, 20_000)
  sum('a', { count: 3 }, 30_000)
  sum('b', { count: 9 }, 30_000)
  t.same(emitted.splice(0), [
    ['a', 1],
    ['b', 9],
  ])
  t.same(
    timers.map(({ ms }) => ms),
    [40_000],
    'one timer, for the key with a sum',
  )
  timers[0]?.end()
  t.same(emitted.splice(0), [['a', 5]], 'without a later call')
  sum('a', { count: 4 }, 70_000)
  t.same(emitted, [], 'at most once a minute')
  sum('a', { count: 1 }, 120_000)
  t.same(emitted, [['a', 5]])
})
