import t from 'tap'
import { timeOrderedId } from '../../../src/messages/outbox/time-ordered-id.ts'

t.test('ids of one time ascend, also when ids of other times are made between them', async (t) => {
  const moments = [1_800_000_000_000, 1_800_000_000_001, 1_800_000_000_002]
  const ids = moments.map(() => [] as string[])
  for (let i = 0; i < 3_000; i++) ids[i % 3]!.push(timeOrderedId(moments[i % 3]!))
  for (const each of ids) t.same(each, [...each].sort())
  t.equal(new Set(ids.flat()).size, 3_000)
})

t.test('an id contains its time and its version', async (t) => {
  t.match(timeOrderedId(0x123456789abc), /^12345678-9abc-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})
