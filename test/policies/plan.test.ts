import fc from 'fast-check'
import t from 'tap'
import type { Plan as ClientPlan } from '../../packages/client/api-types.ts'
import { NotTranslatable } from '../../packages/client/filter.ts'
import { predicateOf } from '../../packages/client/predicate.ts'
import { sqlOf } from '../../packages/client/sql.ts'
import { openAccessEngine } from '../../src/policy-engine/evaluate/engine.ts'
import type { ApplicationQuery } from '../../src/policy-engine/evaluate/query.ts'
import type { NoPlan, Plan } from '../../src/policy-engine/plan/plan.ts'
import { disposableDatabase } from '../helpers/database.ts'
import { withClient } from '../helpers/query.ts'
import { rounds } from '../helpers/rounds.ts'
import { conditions, departments, policySubjects, types, values } from './generated.ts'
import { columns, rows as docs } from './rows.ts'
import { built, department, now, question, type Written } from './stage.ts'

const engine = await openAccessEngine()

/** A plan as the service answers it. */
function answered({ filter, obligations, attributes }: Plan): ClientPlan {
  const kind = typeof filter !== 'boolean' ? 'conditional' : filter ? 'always' : 'never'
  return {
    kind,
    ...(typeof filter !== 'boolean' && { filter }),
    obligations: obligations.map(({ properties = {}, ...one }) => ({ ...one, properties })),
    attributes,
    policy_revision: 1,
  } as ClientPlan
}

const planned = (query: ApplicationQuery): Plan => {
  const plan: Plan | NoPlan = engine.plan(query)
  if ('unplanned' in plan) throw new Error(JSON.stringify(plan))
  return plan
}

const people = ['a1', 'a2', 'a3'].map((end) => `018f0000-0000-7000-8000-0000000000${end}`)
const members = fc.record({
  id: fc.constantFrom(...people),
  status: fc.constantFrom<'active' | 'suspended'>('active', 'active', 'active', 'suspended'),
  roleIds: fc.subarray(['reader', 'other', 'third']),
  departmentId: fc.constantFrom(null, department, '018f0000-0000-7000-8000-0000000000d2'),
  permissions: fc.constantFrom<string[]>([], [], [], ['doc:read'], ['doc:*'], ['doc:write']),
})
const subjects = fc.record({
  type: fc.constantFrom('user', 'user', 'user', 'service_account', 'customer'),
  member: members,
  given: values,
  /** who acts as the subject */
  actor: fc.option(members, { freq: 4 }),
})
type Subject = typeof subjects extends fc.Arbitrary<infer T> ? T : never

const ofCategory = (category: string, given: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(given)
      .filter(([name]) => name.startsWith(`${category}.`))
      .map(([name, value]) => [name.slice(category.length + 1), value]),
  )

function asked(policies: readonly Written[], { type, member, given, actor }: Subject): ApplicationQuery {
  const base = question(built(policies, types), { subject: ofCategory('subject', given) }, departments)
  const known = { email: 'ann@example.com', emailVerified: true }
  const memberOf = ({ id, ...own }: Subject['member']) => ({
    ...known,
    id,
    membership: { ...base.subject.membership!, ...own },
  })
  const session = { id: 's', acr: 'aal1', amr: ['pwd'], authTime: now, token: 'impersonation' } as const
  return {
    ...base,
    subject: {
      ...base.subject,
      ...memberOf(member),
      type,
      ...(type === 'customer' && { membership: null }),
      session: actor && type === 'user' ? { ...session, actor: memberOf(actor) } : null,
    },
  }
}

const isPermitted = (query: ApplicationQuery, id: string, properties: Record<string, unknown>) =>
  engine.decide({
    ...query,
    resource: { ...query.resource, id },
    sent: { ...query.sent, resource: properties },
  }).effect === 'allow'

/** Policies that leave more to the resource than to others. */
const written = fc.array(
  fc.record({
    effect: fc.constantFrom<Written['effect']>(
      'allow',
      'allow',
      'allow',
      'allow',
      'deny',
      'require_approval',
    ),
    conditions: conditions.filter((one) => one === null || JSON.stringify(one).includes('resource.')),
    subjects: policySubjects,
  }),
  { minLength: 1, maxLength: 5 },
)

const seen = { always: 0, never: 0, conditional: 0, permitted: 0, examined: 0 }
const all = () => Object.values(seen).every((count) => count > 10)

t.test('rows of any values are chosen by the predicate as evaluations permit them one by one', async (t) => {
  fc.assert(
    fc.property(
      written,
      subjects,
      fc.array(values, { minLength: 10, maxLength: 30 }),
      (policies, subject, rows) => {
        const query = asked(policies, subject)
        const plan = answered(planned(query))
        const isChosen = withoutPatterns(() => predicateOf(plan))
        return rows.every((row) => {
          // A filter has the ids of departments in lower case, as the service gives them.
          const properties = JSON.parse(
            JSON.stringify(ofCategory('resource', row)).replaceAll('00D3', '00d3'),
          )
          const permitted = isPermitted(query, 'd1', properties)
          count(plan.kind, permitted)
          return !isChosen || isChosen({ id: 'd1', ...properties }) === permitted
        })
      },
    ),
    { numRuns: rounds(200, 5_000) },
  )
  t.ok(all(), JSON.stringify(seen))
})

function count(kind: ClientPlan['kind'], permitted: boolean) {
  seen[kind]++
  seen.examined++
  if (permitted) seen.permitted++
}

/** Undefined for a plan that compares a pattern. */
function withoutPatterns<T>(translate: () => T): T | undefined {
  try {
    return translate()
  } catch (error) {
    if (error instanceof NotTranslatable && error.leaf.operator === 'matches') return undefined
    throw error
  }
}

t.test('rows in Postgres are chosen by the SQL as evaluations permit them one by one', async (t) => {
  Object.assign(seen, { always: 0, never: 0, conditional: 0, permitted: 0, examined: 0 })
  const { urls, drop } = await disposableDatabase({ migrated: false })
  t.teardown(drop)
  await withClient(urls.superuser, async (client) => {
    const names = Object.keys(columns)
    const types = names.map((name) => `${name} ${columns[name]!.type}`)
    // In the database's own order, texts that differ can be equal.
    await client.query(
      "create collation loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)",
    )
    await client.query(`create temporary table docs (id text, ${types.join(', ')})`)
    const mapped = Object.fromEntries(names.map((name) => [`resource.${name}`, `docs.${name}`]))
    await fc.assert(
      fc.asyncProperty(written, subjects, docs, async (policies, subject, rows) => {
        const query = asked(policies, subject)
        const plan = answered(planned(query))
        const where = withoutPatterns(() => sqlOf(plan, { columns: mapped, from: 2 }))
        if (!where) return
        const isChosen = predicateOf(plan)
        await client.query('truncate docs')
        await client.query(
          `insert into docs ${insertOf(rows)}`,
          rows.flatMap((row) => names.map((name) => row[name]!.sql)),
        )
        const chosen = await client.query(
          `select id from docs where id <> $1::text and ${where.text} order by id::int`,
          ['', ...where.values],
        )
        const sent = rows.map((row) => Object.fromEntries(names.map((name) => [name, row[name]!.sent])))
        const permitted = sent.map((properties, id) => isPermitted(query, String(id), properties))
        for (const one of permitted) count(plan.kind, one)
        const idsOf = (is: (properties: object, id: number) => boolean) =>
          sent.flatMap((properties, id) => (is(properties, id) ? [String(id)] : []))
        const expected = idsOf((_properties, id) => permitted[id]!)
        const about = `${JSON.stringify(plan)} ${where.text}`
        t.strictSame(
          chosen.rows.map(({ id }) => id),
          expected,
          `SQL: ${about}`,
        )
        t.strictSame(
          idsOf((properties, id) => isChosen({ id, ...properties })),
          expected,
          about,
        )
      }),
      { numRuns: rounds(200, 5_000) },
    )
  })
  t.ok(all(), JSON.stringify(seen))
})

function insertOf(rows: readonly object[]) {
  let parameter = 0
  const types = Object.values(columns).map(({ type }) => type)
  const line = (index: number) =>
    `('${index}', ${types.map((type) => `$${++parameter}::text::${type.split(' ')[0]}`).join(', ')})`
  return `values ${rows.map((_row, index) => line(index)).join(', ')}`
}
