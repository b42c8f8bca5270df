import fc from 'fast-check'
import t from 'tap'
import { type Bound, boundedPolicy } from '../../src/policy-engine/compile/bounded-policy.ts'
import type { CompiledPolicy } from '../../src/policy-engine/compile/compiled-policy.ts'
import { buildSlice } from '../../src/policy-engine/compile/slice.ts'
import { openAccessEngine } from '../../src/policy-engine/evaluate/engine.ts'
import { rounds } from '../helpers/rounds.ts'
import { departments, policies, types, values } from './generated.ts'
import { built, question, type Written } from './stage.ts'

const engine = await openAccessEngine()
const order = ['deny', 'require_approval', 'allow']

const of = (category: string, given: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(given)
      .filter(([name]) => name.startsWith(`${category}.`))
      .map(([name, value]) => [name.slice(category.length + 1), value]),
  )

t.test('whatever the values of the resource are, a decision is between its bounds', async (t) => {
  const found = { always: 0, sometimes: 0, never: 0 }
  fc.assert(
    fc.property(
      policies,
      values,
      fc.array(values, { minLength: 5, maxLength: 15 }),
      (written, subject, resources) => {
        const made = built(written as Written[], types)
        const sent = { subject: of('subject', subject) }
        const base = question(made, sent, departments)
        const isKnown = (name: string) => !name.startsWith('resource.') || name === 'resource.type'
        const effectAt = (boundOf: (policy: CompiledPolicy) => Bound) => {
          const bounded = made.map((policy) => ({
            ...policy,
            compiled: boundedPolicy(policy.compiled, boundOf(policy.compiled), isKnown),
          }))
          const slice = buildSlice(base.slice.tenantId, base.slice.revision, bounded, departments)
          if (slice.looksAtResource) throw new Error('a bound reads the resource')
          return order.indexOf(engine.decide({ ...base, slice }).effect)
        }
        const [best, worst] = [effectAt(() => 'best'), effectAt(() => 'worst')]
        const gated = effectAt(({ effect }) => (effect === 'require_approval' ? 'worst' : 'best'))
        found[best === 0 ? 'never' : worst === 0 ? 'sometimes' : 'always']++
        return resources.every((one) => {
          const query = { ...base, sent: { ...sent, resource: of('resource', one) } }
          const effect = order.indexOf(engine.decide(query).effect)
          const breaks = [
            best === 0 && effect > 0,
            worst > 0 && effect === 0,
            best === 1 && effect === 2,
            gated === 2 && effect === 1,
          ]
          return !breaks.includes(true)
        })
      },
    ),
    { numRuns: rounds(150, 5_000) },
  )
  for (const [name, count] of Object.entries(found)) t.ok(count > 0, `${count} are ${name}`)
})
