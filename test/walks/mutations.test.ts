import t from 'tap'
import { attacks } from '../adversary/attacks.ts'
import { filesOf } from '../adversary/mutation-run.ts'
import { mutations } from '../adversary/mutations.ts'

// npm run adversary -- --mutations makes these mistakes in a copy of the checkout. A change of the code can take the text
// away in which a mistake is made: then it needs a new text that breaks the same promise.

t.test('each text in which a mistake is made stands exactly once in its file', async (t) => {
  const gone: string[] = []
  for (const mutation of mutations) {
    const { stale } = await filesOf(mutation)
    if (stale) gone.push(`${mutation.what}: ${stale}`)
  }
  t.same(gone, [])
})

t.test('each mistake changes its file, and names attacks that exist', async (t) => {
  const names = new Set(attacks.map(({ name }) => name))
  for (const { what, attacks, find, replace, also = [] } of mutations) {
    t.ok(attacks.length > 0 && attacks.every((name) => names.has(name)), `${what}: ${attacks}`)
    for (const edit of [{ find, replace }, ...also]) t.not(edit.find, edit.replace, what)
  }
  t.equal(new Set(mutations.map(({ what }) => what)).size, mutations.length, 'each is told once')
})
