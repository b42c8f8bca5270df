import fc from 'fast-check'
import t from 'tap'
import { openAccessEngine } from '../../src/policy-engine/evaluate/engine.ts'
import type { ApplicationQuery } from '../../src/policy-engine/evaluate/query.ts'
import { queryClassifier, valuesNamed } from '../../src/policy-engine/evaluate/query-class.ts'
import { rounds } from '../helpers/rounds.ts'
import { departments, policies, types, values } from './generated.ts'
import { built, department, person, question, type Written } from './stage.ts'

const engine = await openAccessEngine()

const subjects = fc.record({
  id: fc.constantFrom(person, '018f0000-0000-7000-8000-0000000000a2', '018f0000-0000-7000-8000-0000000000a3'),
  roles: fc.subarray(['reader', 'other', 'third']),
  department: fc.constantFrom(null, department, '018f0000-0000-7000-8000-0000000000d2'),
  permissions: fc.subarray(['doc:read', 'doc:*', 'doc:write']),
  owner: fc.constantFrom(null, person, 'd1'),
  given: values,
})

type Asked = typeof subjects extends fc.Arbitrary<infer T> ? T : never

const sent = (category: string, given: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(given)
      .filter(([name]) => name.startsWith(`${category}.`))
      .map(([name, value]) => [name.slice(category.length + 1), value]),
  )

function about(base: ApplicationQuery, { id, roles, department, permissions, owner, given }: Asked) {
  const membership = { ...base.subject.membership!, roleIds: roles, departmentId: department, permissions }
  return {
    ...base,
    subject: { ...base.subject, id, membership },
    resource: { ...base.resource, ownerId: owner },
    sent: { subject: sent('subject', given), resource: sent('resource', given) },
  }
}

t.test('questions of one class have the same effect, whatever the policies', async (t) => {
  let [questions, classes] = [0, 0]
  fc.assert(
    fc.property(policies, fc.array(subjects, { minLength: 20, maxLength: 60 }), (written, asked) => {
      const base = question(built(written as Written[], types), {}, departments)
      const classify = queryClassifier(base.slice, engine.bundle)
      const effects = new Map<string, string>()
      for (const one of asked) {
        const query = about(base, one)
        const key = classify(query)
        const { effect } = engine.decide(query)
        if ((effects.get(key) ?? effect) !== effect) return false
        effects.set(key, effect)
      }
      questions += asked.length
      classes += effects.size
      return true
    }),
    { numRuns: rounds(150, 5_000) },
  )
  t.ok(classes < questions, `${questions} questions have ${classes} classes`)
})

t.test('members that differ in nothing a policy reads share a class', async (t) => {
  const policy = {
    effect: 'allow' as const,
    conditions: {
      all: [
        { attribute: 'subject.level', operator: 'gte', value: 3 },
        { attribute: 'subject.site', operator: 'in', value: ['a', 'b'] },
        { attribute: 'resource.owner_id', operator: 'eq', value_from: 'subject.id' },
      ],
    },
  }
  const base = question(built([policy], { 'subject.level': 'integer', 'subject.site': 'string' }))
  const classify = queryClassifier(base.slice, engine.bundle)
  const classOf = (id: string, attributes: object) =>
    classify({ ...base, subject: { ...base.subject, id }, sent: { subject: attributes as never } })
  t.equal(classOf('x', { level: 1, site: 'q' }), classOf('y', { level: 2, site: 'r' }))
  t.equal(classOf('x', { level: 3, site: 'a' }), classOf('y', { level: 3, site: 'a' }))
  t.not(
    classOf('x', { level: 3, site: 'a' }),
    classOf('x', { level: 4, site: 'a' }),
    'a bound is not above itself',
  )
  t.not(classOf('x', { level: 4, site: 'a' }), classOf('x', { level: 4, site: 'b' }))
  t.not(classOf('x', { level: 4 }), classOf('x', { level: 4, site: 'q' }))
  t.same(valuesNamed(base.slice, 'subject.site'), ['a', 'b'])
})

t.test('what a rule of the service reads tells questions apart', async (t) => {
  const base = question(built([], {}))
  const bundle = {
    ...engine.bundle,
    data: { ...engine.bundle.data, attributes: { 'subject.acr': 'string' } as const },
  }
  const classify = queryClassifier(base.slice, bundle)
  const session = { id: 'session', amr: ['pwd'], authTime: base.now, token: 'access' } as const
  const classOf = (acr: 'aal1' | 'aal2') =>
    classify({ ...base, subject: { ...base.subject, session: { ...session, acr } } })
  t.equal(classOf('aal1'), classOf('aal1'))
  t.not(classOf('aal1'), classOf('aal2'))
})
