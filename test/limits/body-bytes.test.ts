import t from 'tap'
import { createBodyBytes } from '../../src/limits/body-bytes.ts'

const overloaded = { status: 503, code: 'overloaded', headers: { 'Retry-After': '1' } }

t.test('a process holds so many bytes of long bodies, and a tenant a quarter of them', async (t) => {
  const hold = createBodyBytes(16)
  const first = hold('a', 4)
  t.throws(() => hold('a', 1), overloaded)
  for (const tenant of ['b', 'c']) hold(tenant, 4)
  const part = hold('d', 3)
  t.throws(() => hold('e', 2), overloaded)
  first.shrinkTo(2)
  hold('e', 2)
  hold('a', 1)
  t.throws(() => hold('f', 1), overloaded)
  for (let time = 0; time < 2; time++) part.shrinkTo(0)
  hold('f', 3)
  t.throws(() => hold('f', 1), overloaded, 'given back once')
})
