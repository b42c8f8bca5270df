import t from 'tap'
import type { Slice } from '../../src/policy-engine/compile/compiled-policy.ts'
import { buildSlice, emptySlice } from '../../src/policy-engine/compile/slice.ts'
import { bundleName, policiesFolder, readBundle } from '../../src/policy-engine/evaluate/bundle.ts'
import { readDecision } from '../../src/policy-engine/evaluate/decision.ts'
import { evaluationRunner } from '../../src/policy-engine/evaluate/instances.ts'
import {
  inputText,
  instantiatorOf,
  type PolicyInstance,
} from '../../src/policy-engine/evaluate/policy-instance.ts'
import { type AnyQuery, policyInput } from '../../src/policy-engine/evaluate/query.ts'
import { built, question, type Written } from '../policies/stage.ts'

const compiled = instantiatorOf(readBundle(`${policiesFolder}${bundleName}`))

/** A runner that records which instances it created and which one answered last. */
function watched() {
  const made: PolicyInstance[] = []
  const instantiate = () => {
    const instance = compiled()
    made.push(instance)
    return instance
  }
  const run = evaluationRunner(instantiate, instantiate())
  const decide = (query: AnyQuery, aside = false) => {
    const input = inputText(policyInput(query))
    let by: PolicyInstance | undefined
    const evaluate = (instance: PolicyInstance) => {
      by = instance
      return readDecision(instance.evaluate('authz/decision', input, query.slice), query)
    }
    const { effect } = run({ slice: query.slice, input, evaluate }, aside)
    return { effect, by }
  }
  return { made, decide }
}

const deny = (length = 1): Written[] =>
  Array.from({ length }, () => ({
    effect: 'deny',
    conditions: { attribute: 'subject.id', operator: 'in', value: Array(256).fill('someone else') },
  }))
const ask = (slice: Slice): AnyQuery => {
  const query = question([])
  const { tenantId } = slice
  return {
    ...query,
    subject: { ...query.subject, tenantId },
    tenant: { ...query.tenant!, id: tenantId },
    resource: { ...query.resource, tenantId },
    slice,
  }
}
const broken = (tenantId: string, revision = 1): Slice => ({ ...emptySlice(tenantId, revision), text: '{' })

t.test('a slice that fails does not affect other tenants, and its tenant still gets an answer', async (t) => {
  const { made, decide } = watched()
  const neighbour = ask(buildSlice('neighbour', 1, built(deny(8))))
  decide(neighbour)
  const { by: shared } = decide(neighbour)
  const large = ask({ ...broken('attacker'), memory: 1024 * 1024 })
  for (let time = 0; time < 100; time++) t.throws(() => decide(large))
  t.equal(decide(neighbour).by, shared, 'the shared instance never evaluated it')
  t.ok(shared?.holds(neighbour.slice))

  const before = made.length
  for (let time = 0; time < 100; time++) t.throws(() => decide(ask(broken('attacker'))))
  const { by: replaced } = decide(neighbour)
  t.not(replaced, shared, 'small slices are evaluated there once, and isolated after a failure')
  t.equal(decide(neighbour).by, replaced)
  t.equal(decide(ask(emptySlice('attacker', 1))).by === replaced, false, 'with all of these policies')
  t.equal(decide(ask(emptySlice('attacker', 2))).by, replaced, 'until they change')
  t.comment(`${made.length - before} instances for 100 failures`)
})

t.test('a tenant with many slices does not fill the shared instance', async (t) => {
  const { decide } = watched()
  const neighbour = ask(buildSlice('neighbour', 1, built(deny())))
  decide(neighbour)
  const { by: shared } = decide(neighbour)
  const policies = built(deny(8))
  for (let revision = 0; revision < 100; revision++) {
    const asked = ask(buildSlice('greedy', revision, policies))
    for (let time = 0; time < 3; time++) t.equal(decide(asked).effect, 'deny')
  }
  t.equal(decide(neighbour).by, shared)
  t.ok(shared!.usedBytes() < 16 * 1024 * 1024)
})

t.test('large inputs and explanations are isolated, and too large slices are refused', async (t) => {
  const { made, decide } = watched()
  const asked = ask(emptySlice('tenant', 1))
  const { by: shared } = decide(asked)
  const large = { ...asked, resource: { ...asked.resource, id: 'x'.repeat(100_000) } }
  t.not(decide(large).by, shared)
  t.not(decide(asked, true).by, shared)
  const before = made.length
  t.throws(() => decide(ask({ ...asked.slice, bytes: 1024 * 1024 })), { message: /too large to load/ })
  t.equal(made.length, before)
})
