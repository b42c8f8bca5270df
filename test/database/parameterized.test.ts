import t from 'tap'
import { parameterized } from '../../src/database/executor/parameterized.ts'
import { sql } from '../../src/database/executor/transaction.ts'

t.test('a parameterized statement is written once, and each use binds its own values', async (t) => {
  let written = 0
  const statement = parameterized(({ a, b }: Record<'a' | 'b', string>) => {
    written++
    return sql.unsafe`select ${b}, (${sql.fragment`select ${a}`}), ${b}`
  })
  const first = statement({ a: 'one', b: 'two' })
  const plain = sql.unsafe`select ${'two'}, (${sql.fragment`select ${'one'}`}), ${'two'}`
  t.same(first, plain)
  t.same(statement({ a: '3', b: '4' }), { ...plain, values: ['4', '3', '4'] })
  t.same(first.values, ['two', 'one', 'two'], 'the values of an earlier use stay')
  t.equal(written, 1)
})

t.test(
  'a parameterized statement that binds anything else throws, because it would bind it for all',
  async (t) => {
    const statement = parameterized(({ a }: Record<'a', string>) => sql.unsafe`select ${a}, ${Date.now()}`)
    t.throws(() => statement({ a: 'one' }), { message: /not one of its own/ })
    const changed = parameterized(({ a }: Record<'a', string>) => sql.unsafe`select ${a.toUpperCase()}`)
    t.throws(() => changed({ a: 'one' }), { message: /not one of its own/ })
  },
)
