import t from 'tap'
import { NotTranslatable, type Plan, predicateOf, sqlOf } from '../../packages/client/exports.ts'
import { disposableDatabase } from '../helpers/database.ts'
import { withClient } from '../helpers/query.ts'

type Filter = NonNullable<Plan['filter']>
const { urls, drop } = await disposableDatabase({ migrated: false })
t.teardown(drop)

const planOf = (filter: Filter, attributes: Plan['attributes']): Plan => ({
  ...{ kind: 'conditional', filter, attributes, obligations: [], policy_revision: 1 },
  ...{ missing_attributes: [], ill_typed_attributes: [], ignored_properties: [] },
  ...{ unknown_action: false, unknown_resource_type: false },
})
const leaf = (attribute: string, operator: string, value?: unknown) =>
  ({ attribute, operator, ...(value !== undefined && { value }) }) as Filter

const text = { 'resource.name': 'string', 'resource.title': 'string' } as const
const names = { columns: { 'resource.name': 'name', 'resource.title': 'title' } }

/** The names of the rows of a table expression that a plan chooses. */
const chosen = (from: string, plan: Plan, options: Parameters<typeof sqlOf>[1]) =>
  withClient(urls.superuser, async (client) => {
    const { text, values } = sqlOf(plan, options)
    const { rows } = await client.query(`select n from ${from} where ${text} order by n`, values)
    return rows.map(({ n }) => n)
  })

t.test('what SQL cannot say is thrown with its comparison', async (t) => {
  const pattern = leaf('resource.name', 'matches', '^a')
  const unmapped = leaf('resource.constructor', 'exists')
  const attributes = { ...text, 'resource.constructor': 'string' } as const
  const thrown = (filter: Filter) => {
    try {
      return sqlOf(planOf(filter, attributes), names)
    } catch (error) {
      return error
    }
  }
  for (const one of [pattern, unmapped]) {
    const error = thrown({ all: [leaf('resource.name', 'eq', 'a'), { none: [one] }] })
    t.ok(error instanceof NotTranslatable)
    t.match(error, { code: 'not_translatable', leaf: one })
  }
  const comparison = { attribute: 'resource.name', operator: 'eq', value_from: 'resource.other' } as Filter
  t.match(thrown(comparison), { leaf: comparison, message: /resource\.other has no column/ })
  t.throws(() => predicateOf(planOf(pattern, text)), { code: 'not_translatable', leaf: pattern })
  t.match(sqlOf({ ...planOf(pattern, text), kind: 'never' }, names), { text: 'false', values: [] })
  const { filter: _filter, ...whole } = planOf(pattern, text)
  t.match(sqlOf({ ...whole, kind: 'always' }, names), { text: 'true', values: [] })
  t.match(sqlOf(whole, names), { text: 'false' }, 'a plan without its filter chooses nothing')
  t.equal(predicateOf(whole)({ name: 'a' }), false)
})

t.test('constants are parameters, numbered from where you say', async (t) => {
  const hostile = "'; drop table rows; --"
  const filter = { any: [leaf('resource.name', 'eq', hostile), leaf('resource.title', 'contains', '$1')] }
  const sql = sqlOf(planOf(filter, text), { ...names, from: 3 })
  t.strictSame(sql.values, [[hostile], '$1'])
  t.same([...sql.text.matchAll(/\$\d+/g)].map(String).sort(), ['$3', '$3', '$4'])
  t.notMatch(sql.text, /drop table/)
})

t.test('texts are compared by their bytes, whatever the order of the column', async (t) => {
  await withClient(urls.superuser, (client) =>
    client.query(`create collation loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
      create table rows (n int, name text collate loose, title text);
      insert into rows values (1, 'a', 'a'), (2, 'A', 'a'), (3, 'á', 'a'), (4, null, 'a')`),
  )
  for (const [filter, expected] of [
    [leaf('resource.name', 'eq', 'a'), [1]],
    [leaf('resource.name', 'ne', 'a'), [2, 3]],
    [leaf('resource.name', 'in', ['a', 'á']), [1, 3]],
    [leaf('resource.name', 'starts_with', 'A'), [2]],
    [{ none: [leaf('resource.name', 'ends_with', 'A')] }, [1, 3]],
    [leaf('resource.name', 'contains', ''), [1, 2, 3]],
    [{ attribute: 'resource.name', operator: 'eq', value_from: 'resource.title' }, [1]],
    [{ attribute: 'resource.title', operator: 'ne', value_from: 'resource.name' }, [2, 3]],
    [leaf('resource.name', 'eq', 'a\0'), []],
    [leaf('resource.name', 'ne', 'a\0'), [1, 2, 3]],
    [leaf('resource.name', 'not_in', ['A', '\0']), [1, 3]],
    [{ none: [leaf('resource.name', 'contains', '\0')] }, [1, 2, 3]],
  ] as [Filter, number[]][])
    t.strictSame(await chosen('rows', planOf(filter, text), names), expected, JSON.stringify(filter))
})

t.test('a column of uuids is compared as one, and only with what can be an id', async (t) => {
  const [one, two] = ['018f0000-0000-7000-8000-00000000000a', '018f0000-0000-7000-8000-00000000000b']
  const from = `(values (1, '${one}'::uuid, '${two}'), (2, '${two}', '${two}'), (3, null, null)) as rows (n, id, name)`
  const attributes = { ...text, 'resource.id': 'string' } as const
  const columns = { ...names.columns, 'resource.id': { sql: 'rows.id', type: 'uuid' } } as const
  for (const [filter, expected] of [
    [leaf('resource.id', 'eq', one), [1]],
    [leaf('resource.id', 'eq', one.toUpperCase()), []],
    [leaf('resource.id', 'ne', 'alice'), [1, 2]],
    [leaf('resource.id', 'in', ['alice', two]), [2]],
    [leaf('resource.id', 'not_in', ['alice', two]), [1]],
    [leaf('resource.id', 'ends_with', 'b'), [2]],
    [leaf('resource.id', 'not_exists'), [3]],
    [{ attribute: 'resource.id', operator: 'eq', value_from: 'resource.name' }, [2]],
  ] as [Filter, number[]][])
    t.strictSame(
      await chosen(from, planOf(filter, attributes), { columns }),
      expected,
      JSON.stringify(filter),
    )
})

t.test(
  'groups, lists and texts are compared as the reference says, in SQL and by the predicate',
  async (t) => {
    const attributes = {
      'resource.name': 'string',
      'resource.title': 'string',
      'resource.list': 'array',
    } as const
    const rows = [
      { n: 1, name: 'a', title: 'a', list: [] },
      { n: 2, name: 'A', title: 'a', list: ['1'] },
      { n: 3, name: null, title: 'a', list: [1, 'a', true] },
      { n: 4, name: 'b', title: 'b', list: [null] },
    ]
    const from = `jsonb_to_recordset('${JSON.stringify(rows)}') as rows (n int, name text, title text, list jsonb)`
    const columns = { ...names.columns, 'resource.list': 'list' }
    const named = leaf('resource.name', 'eq', 'a')
    const list = (operator: string, value?: unknown) => leaf('resource.list', operator, value)
    for (const [filter, expected] of [
      [{ all: [] }, [1, 2, 3, 4]],
      [{ any: [] }, []],
      [{ none: [] }, [1, 2, 3, 4]],
      [named, [1]],
      [leaf('resource.name', 'ne', 'a'), [2, 4]],
      [{ none: [named] }, [2, 4]],
      [{ none: [{ none: [named] }] }, [1]],
      [{ any: [named, leaf('resource.title', 'eq', 'a')] }, [1, 2, 3]],
      [{ none: [{ all: [named, leaf('resource.title', 'eq', 'b')] }] }, [1, 2, 3, 4]],
      [{ none: [{ all: [named, leaf('resource.title', 'eq', 'a')] }] }, [2, 4]],
      [leaf('resource.name', 'not_exists'), [3]],
      [{ attribute: 'resource.name', operator: 'eq', value_from: 'resource.title' }, [1, 4]],
      [leaf('resource.name', 'in', []), []],
      [leaf('resource.name', 'not_in', []), [1, 2, 4]],
      [list('exists'), [1, 2, 3]],
      [list('not_exists'), []],
      [list('contains', 1), [3]],
      [list('contains', '1'), [2]],
      [list('contains_any', []), []],
      [list('contains_all', []), [1, 2, 3]],
      [list('subset_of', []), [1]],
      [list('subset_of', ['1', 'A']), [1, 2]],
      [{ none: [list('subset_of', ['1'])] }, [3]],
    ] as [Filter, number[]][]) {
      const plan = planOf(filter, attributes)
      const said = JSON.stringify(filter)
      t.strictSame(await chosen(from, plan, { columns }), expected, said)
      const byPredicate = rows.filter(predicateOf(plan)).map(({ n }) => n)
      t.strictSame(byPredicate, expected, said)
    }
  },
)

t.test('times are compared in ms, from the year 0000 to 9999', async (t) => {
  const from = `(values (1, '0001-01-01 00:00:00+00 BC'::timestamptz), (2, '2026-01-01 00:00:00.0009+00'),
    (3, '9999-12-31 23:59:59.9999+00'), (4, '10000-01-01 00:00:00+00'), (5, '-infinity')) as rows (n, name)`
  const attributes = { 'resource.name': 'datetime' } as const
  const [first, middle, last] = [
    '0000-01-01T00:00:00.000Z',
    '2026-01-01T00:00:00.000Z',
    '9999-12-31T23:59:59.999Z',
  ]
  for (const [filter, expected] of [
    [leaf('resource.name', 'eq', first), [1]],
    [leaf('resource.name', 'lte', middle), [1, 2]],
    [leaf('resource.name', 'gt', middle), [3]],
    [leaf('resource.name', 'between', [middle, last]), [2, 3]],
    [{ none: [leaf('resource.name', 'between', [middle, last])] }, [1]],
    [leaf('resource.name', 'exists'), [1, 2, 3]],
  ] as [Filter, number[]][])
    t.strictSame(await chosen(from, planOf(filter, attributes), names), expected, JSON.stringify(filter))
  const isLast = predicateOf(planOf(leaf('resource.name', 'eq', last), attributes))
  t.equal(isLast({ name: new Date(last) }), true)
  t.equal(isLast({ name: new Date(Number.NaN) }), false)
})

t.test('a comparison with a constant can use an index of its column', async (t) => {
  await withClient(urls.superuser, async (client) => {
    await client.query(`create table invoices (id uuid primary key, owner_id text, amount int, due timestamptz);
      create index on invoices (owner_id); create index on invoices (amount); create index on invoices (due);
      set enable_seqscan = off`)
    const columns = {
      'resource.id': { sql: 'id', type: 'uuid' },
      ...{ 'resource.owner_id': 'owner_id', 'resource.amount': 'amount', 'resource.due': 'due' },
    } as const
    const attributes: Plan['attributes'] = {
      ...{ 'resource.id': 'string', 'resource.owner_id': 'string' },
      ...{ 'resource.amount': 'integer', 'resource.due': 'datetime' },
    }
    for (const filter of [
      leaf('resource.id', 'eq', '018f0000-0000-7000-8000-00000000000a'),
      leaf('resource.owner_id', 'in', ['a', 'b']),
      leaf('resource.amount', 'gt', 5),
      leaf('resource.due', 'lt', '2026-01-01T00:00:00.000Z'),
      { any: [leaf('resource.owner_id', 'eq', 'a'), leaf('resource.amount', 'eq', 5)] },
    ]) {
      const { text, values } = sqlOf(planOf(filter, attributes), { columns })
      const { rows } = await client.query(
        `explain (format json) select id from invoices where ${text}`,
        values,
      )
      t.match(JSON.stringify(rows), /"Index Cond":"/, JSON.stringify(filter))
    }
  })
})
