import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { compilePolicy } from '../../src/policy-engine/compile/compile-policy.ts'
import type { Condition } from '../../src/policy-engine/compile/conditions.ts'
import type { PolicySource } from '../../src/policy-engine/compile/policy-document.ts'
import { buildSlice } from '../../src/policy-engine/compile/slice.ts'
import { openAccessEngine } from '../../src/policy-engine/evaluate/engine.ts'
import type { ApplicationQuery } from '../../src/policy-engine/evaluate/query.ts'
import { rounds } from '../helpers/rounds.ts'
import { departments, policies, types, values } from './generated.ts'
import { applies, type Verdict, verdictOf } from './oracle.ts'

const engine = await openAccessEngine()
const attributes = new Map(Object.entries(types).map(([name, type]) => [name, { type }]))
const now = Date.parse('2026-01-01T00:00:00Z')
const person = '018f0000-0000-7000-8000-0000000000a1'
const department = '018f0000-0000-7000-8000-0000000000d1'

type Generated = { effect: PolicySource['effect']; conditions: unknown; subjects: object }

function compiled({ effect, conditions, subjects }: Generated, index: number) {
  const rest = { resource_types: [], valid_from: null, valid_until: null, approval: null, obligations: [] }
  const source = { effect, conditions, subjects, actions: ['doc:read'], ...rest }
  const result = compilePolicy(source, { attributes, role: (name) => name })
  if ('faults' in result) throw new Error(JSON.stringify([source, result.faults]))
  return {
    id: `p${index}`,
    version: 1,
    name: `P${index}`,
    priority: 0,
    compiled: result.policy,
    document: result.document,
  }
}

function sent(category: string, given: Record<string, unknown>) {
  const own = Object.entries(given).filter(([name]) => name.startsWith(`${category}.`))
  return Object.fromEntries(own.map(([name, value]) => [name.slice(category.length + 1), value]))
}

function question(built: ReturnType<typeof compiled>[], given: Record<string, unknown>): ApplicationQuery {
  return {
    application: true,
    requestId: 'request',
    now,
    phase: 'resource',
    subject: {
      type: 'user',
      id: person,
      email: null,
      emailVerified: false,
      tenantId: 'tenant',
      membership: {
        id: 'm',
        status: 'active',
        systemRoles: [],
        roleIds: ['reader'],
        permissions: [],
        departmentId: department,
        joinedAt: now,
      },
      session: null,
    },
    tenant: { id: 'tenant', status: 'active', requireMfa: false },
    action: 'doc:read',
    resource: { type: 'doc', id: 'd1', tenantId: 'tenant', ownerId: null },
    environment: { ip: null, userAgent: null },
    slice: buildSlice('tenant', 1, built, departments),
    sent: { subject: sent('subject', given), resource: sent('resource', given) },
  }
}

const aboutSubject = (subjects: { roles?: string[]; departments?: string[]; users?: string[] }) =>
  Object.keys(subjects).length === 0 ||
  subjects.roles?.includes('reader') ||
  subjects.departments?.includes(department) ||
  subjects.users?.includes(person) ||
  false

function expected(generated: Generated[], verdicts: Verdict[]) {
  const met = (effect: string) =>
    generated.flatMap((policy, index) => {
      const about = policy.effect === effect && aboutSubject(policy.subjects)
      return about && applies(effect, verdicts[index] as Verdict) ? [`p${index}`] : []
    })
  const [denies, allows, gates] = [met('deny'), met('allow'), met('require_approval')]
  if (denies.length > 0) return { effect: 'deny', matched: denies }
  if (allows.length === 0) return { effect: 'deny', matched: [] }
  return gates.length > 0
    ? { effect: 'require_approval', matched: gates }
    : { effect: 'allow', matched: allows }
}

const runs = rounds(1_600, 20_000)

t.test('the compiled policies decide as an interpreter of the source does', async (t) => {
  const effects: Record<string, number> = {}
  const asked = fc.property(policies, values, (generated, given) => {
    const world = { types, values: given, now, departments }
    const verdicts = generated.map(({ conditions }) => verdictOf(conditions as Condition | null, world))
    const { effect, matched } = engine.decide(question(generated.map(compiled), given))
    effects[effect] = (effects[effect] ?? 0) + 1
    const answer = { effect, matched: matched.map(({ policy_id }) => policy_id).toSorted() }
    if (!isDeepStrictEqual(answer, expected(generated, verdicts)))
      fail({ generated, given, verdicts, answer })
  })
  fc.assert(asked, { seed: 20_260_101, numRuns: runs })
  t.comment(`${runs} agreed: ${JSON.stringify(effects)}`)
  for (const effect of ['allow', 'deny', 'require_approval']) t.ok((effects[effect] ?? 0) > runs / 50, effect)
})

t.test('an explanation has the same outcome for every node as the interpreter', async (t) => {
  const words = { true: true, false: false, unknown: 'error' } as const
  const asked = fc.property(policies, values, (generated, given) => {
    const built = generated.map(compiled)
    const query = question(built, given)
    const explanation = engine.explain(query, built)
    explanation.policies.forEach(({ trace, applies: applied }, index) => {
      const { conditions, effect, subjects } = generated[index] as Generated
      const verdict = verdictOf(conditions as Condition | null, { types, values: given, now, departments })
      if (trace && words[trace.outcome] !== verdict) fail({ conditions, given, trace, verdict })
      if (applied !== (aboutSubject(subjects) && applies(effect, verdict)))
        fail({ conditions, given, applied, verdict })
    })
    if (explanation.decision.effect !== engine.decide(query).effect) fail({ generated, given })
  })
  fc.assert(asked, { seed: 20_260_102, numRuns: runs / 8 })
  t.pass(`${runs / 8} explanations agreed`)
})

function fail(what: object): never {
  throw new Error(JSON.stringify(what, null, 1))
}
