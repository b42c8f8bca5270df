import t from 'tap'
import { emptySlice } from '../../src/policy-engine/compile/slice.ts'
import { AuthorizationUnavailable, openAccessEngine } from '../../src/policy-engine/evaluate/engine.ts'
import type { DecisionQuery } from '../../src/policy-engine/evaluate/query.ts'
import { reasonSentence } from '../../src/policy-engine/evaluate/reasons.ts'
import { roleQuery } from '../../src/policy-engine/opa/role-table.ts'

const engine = await openAccessEngine()
// A copy with the same slice, because the engine caches slices by identity.
const asked = () => {
  const query = roleQuery('tenant:read', ['member'], 'me')
  return { ...structuredClone(query), slice: query.slice }
}

t.test('a decision has an effect, reasons and its duration', async (t) => {
  const { durationUs, ...decision } = engine.decide(asked())
  const reasons = [{ code: 'role_grant' as const, layer: 'rbac' }]
  const rest = { matched: [], obligations: [], approval: null, provisional: false }
  t.strictSame(decision, { effect: 'allow', reasons, ...rest })
  t.ok(durationUs >= 0 && Number.isInteger(durationUs))
  t.equal(reasonSentence('role_grant'), 'One of your roles permits this.')
  t.match(engine.revision, /^[0-9a-f]{64}$/)
})

t.test('a text that aborts the module throws, and the next decision works', async (t) => {
  const query = asked()
  query.resource.id = 'lone \ud800 surrogate'
  for (let time = 0; time < 3; time++) {
    t.throws(() => engine.decide(query), AuthorizationUnavailable)
    t.equal(engine.decide(asked()).effect, 'allow')
  }
})

t.test('any number of aborts leaves a working instance', async (t) => {
  const query = asked()
  query.resource.id = '\udfff'
  for (let time = 0; time < 2000; time++) {
    try {
      engine.decide(query)
      t.fail('an abort has to throw')
    } catch (error) {
      if (!(error instanceof AuthorizationUnavailable)) throw error
    }
  }
  t.equal(engine.decide(asked()).effect, 'allow')
})

t.test('an invalid input throws', async (t) => {
  const query = asked()
  t.throws(() => engine.decide(undefined as unknown as DecisionQuery), AuthorizationUnavailable)
  t.throws(() => engine.decide({ ...query, subject: null as never }), AuthorizationUnavailable)
  t.throws(() => engine.decide({ ...query, requestId: undefined as never }), AuthorizationUnavailable)
  t.throws(() => engine.decide({ ...query, requestId: 10n as never }), AuthorizationUnavailable)
})

t.test('a missing member denies', async (t) => {
  const { effect, reasons } = engine.decide({ ...asked(), now: undefined as never })
  t.equal(effect, 'deny')
  t.equal(reasons[0]?.code, 'incomplete_input')
})

t.test('an input of megabytes does not keep memory', async (t) => {
  const query = asked()
  query.resource.id = 'x'.repeat(3 * 1024 * 1024)
  t.equal(engine.decide(query).effect, 'allow')
  query.resource.id = 'x'.repeat(5 * 1024 * 1024)
  t.throws(() => engine.decide(query), AuthorizationUnavailable)
  t.equal(engine.decide(asked()).effect, 'allow')
})

t.test('two alternating tenants do not affect each other', async (t) => {
  const other = asked()
  other.subject.tenantId = 'other'
  other.tenant = { id: 'other', status: 'suspended', requireMfa: false }
  other.resource.tenantId = 'other'
  other.slice = emptySlice('other', 1)
  other.action = 'member:list'
  for (let time = 0; time < 1000; time++) {
    if (engine.decide(asked()).effect !== 'allow') t.fail('the first tenant is active')
    if (engine.decide(other).reasons[0]?.code !== 'tenant_suspended') t.fail('the other is not')
  }
})
