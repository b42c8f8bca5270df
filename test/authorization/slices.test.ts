import t from 'tap'
import { sizeFault } from '../../src/authorization/policies/slice-limits.ts'
import { slicePolicies } from '../../src/authorization/policies/slice-policies.ts'
import { createLruCache } from '../../src/policy-engine/lru-cache.ts'
import { built, now, type Written } from '../policies/stage.ts'

const stored = (policies: Written[], ids = (n: number) => `p${n}`) =>
  built(policies).map((policy, n) => ({
    ...policy,
    id: ids(n),
    mode: 'enforce' as const,
    valid_from: null,
    valid_until: null,
    bytes: JSON.stringify(policy.compiled).length,
  }))
const wide = { attribute: 'subject.id', operator: 'in', value: Array(250).fill('x'.repeat(50)) }

t.test(
  'the cached slices of a tenant are limited, and the least recently used is evicted first',
  async (t) => {
    const policies = stored(
      Array.from({ length: 600 }, (_none, n) => ({
        effect: 'deny',
        actions: [`doc:x${n}`],
        conditions: wide,
      })),
    )
    let grown = 0
    const cut = slicePolicies(
      { tenantId: 'tenant', revision: 1, policies, departments: new Map(), callerKeys: new Set() },
      () => grown++,
    )
    const base = cut.bytes()
    const first = cut.slice('doc', 'doc:x0', now)
    for (let n = 0; n < 600; n++) {
      cut.slice('doc', `doc:x${n}`, now)
      if (n < 300) t.equal(cut.slice('doc', 'doc:x0', now), first)
      if (cut.bytes() - base > 9.1 * 1024 * 1024) t.fail(`${cut.bytes()} bytes after ${n} slices`)
    }
    t.not(cut.slice('doc', 'doc:x0', now), first, 'it was evicted by the others')
    t.ok(grown >= 600, 'the cache of tenants is notified')
  },
)

t.test('the sizes in a cache add up to at most its limit', async (t) => {
  const kept = createLruCache<string>(10)
  for (const key of ['a', 'b', 'c']) kept.set(key, key, 3)
  kept.get('a')
  kept.set('d', 'd', 4)
  t.same(
    ['a', 'b', 'c', 'd'].map((key) => kept.get(key)),
    ['a', undefined, 'c', 'd'],
  )
  kept.set('e', 'e', 50)
  t.equal(kept.get('e'), 'e', 'the last one is always kept')
  t.equal(kept.size(), 50)
  kept.set('e', 'e', 2)
  t.equal(kept.size(), 2)
})

t.test('the work of measuring a policy among many others is limited', async (t) => {
  const names = (kind: string, n: number) => Array.from({ length: 100 }, (_none, at) => `${kind}${n}-${at}`)
  const others = stored(
    Array.from({ length: 300 }, (_none, n) => ({
      effect: 'deny',
      actions: names('doc:x', n),
      resource_types: names('type', n),
    })),
  )
  const [one] = stored([{ effect: 'deny', actions: ['*'] }], () => 'new')
  const begun = performance.now()
  t.match(sizeFault('tenant', one!, others), { code: 'too_large', detail: /too many actions/ })
  t.comment(`refused after ${(performance.now() - begun).toFixed(0)} ms`)
  const [narrow] = stored([{ effect: 'deny', actions: ['doc:x1-1'] }], () => 'new')
  t.equal(sizeFault('tenant', narrow!, others), undefined)
  const large = others.map((policy) => ({ ...policy, bytes: 10_000 }))
  t.match(sizeFault('tenant', narrow!, large), { code: 'too_large', detail: /the limit is 2097152/ })
})
