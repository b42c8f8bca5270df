import t from 'tap'
import { crowd } from '../helpers/crowd.ts'
import { proveAddress } from '../helpers/prove-address.ts'
import type { Client } from '../helpers/service.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t, { workers: false })
const ada = await service.signUp({ email: 'ada@example.com', first_name: 'Ada', last_name: 'Lovelace' })
const second = 1_000
const since = service.now() + second
const ids = await crowd(service.databases.superuser, { id: ada.tenantId, size: 45, since })
const users = '/api/v1/users/'
const members = `/api/v1/tenants/${ada.tenantId}/members/`

/** Follows `next` from the first page to the last; gives all pages. */
async function walk(client: Client, path: string) {
  const pages = [(await client.get(path)).body]
  while (pages.at(-1).next) pages.push((await client.get(pages.at(-1).next)).body)
  return pages
}

type Page = { results: { email: string }[] }
const emails = (pages: Page[]) => pages.flatMap((page) => page.results.map((entry) => entry.email))

t.test('a page has twenty entries, a count, and an absolute link to the next', async (t) => {
  const { status, body } = await ada.get(users)
  t.equal(status, 200)
  t.equal(body.results.length, 20)
  t.equal(body.count, 46)
  t.equal(body.previous, null)
  t.ok(body.next.startsWith(`${service.url}${users}?`), body.next)
})

t.test('every entry appears once, forwards and backwards, in every ordering', async (t) => {
  for (const path of [users, members])
    for (const ordering of ['created_at', '-created_at', 'email', '-email']) {
      const pages = await walk(ada, `${path}?page_size=7&ordering=${ordering}`)
      const met = emails(pages)
      t.equal(new Set(met).size, 46, `${path} ${ordering}`)
      t.equal(met.length, 46)
      const column = ordering.endsWith('email') ? [...met].sort() : met
      t.same(met, ordering === '-email' ? column.reverse() : column)
      const back = []
      for (let page = pages.at(-1); page; page = page.previous && (await ada.get(page.previous)).body)
        back.unshift(page)
      t.same(emails(back), met)
    }
})

t.test('the default order is oldest first, and a minus reverses it', async (t) => {
  const oldest = emails([(await ada.get(`${users}?page_size=100`)).body])
  t.equal(oldest[0], 'ada@example.com')
  t.same(emails([(await ada.get(`${users}?page_size=100&ordering=-created_at`)).body]), oldest.reverse())
})

t.test('an entry that is added meanwhile breaks no cursor', async (t) => {
  const first = (await ada.get(`${users}?page_size=40&ordering=-created_at`)).body
  const [late] = await crowd(service.databases.superuser, {
    id: ada.tenantId,
    size: 1,
    since: since + 99 * second,
  })
  const rest = (await ada.get(first.next)).body
  t.equal(rest.results.length, 6)
  t.notOk(emails([first, rest]).some((email, at, all) => all.indexOf(email) !== at))
  t.equal((await ada.get(`${users}?ordering=-created_at&page_size=1`)).body.results[0].id, late)
})

t.test('filters select the right entries, and the count is of those', async (t) => {
  const one = emails([(await ada.get(`${users}?search=crowd-000007`)).body])[0]!
  const cases: [string, number][] = [
    [`${users}?email=${one.toUpperCase()}`, 1],
    [`${users}?email=nobody@example.com`, 0],
    [`${users}?is_active=true`, 47],
    [`${users}?is_active=False`, 0],
    [`${users}?role=owner`, 1],
    [`${users}?role=MEMBER`, 46],
    [`${users}?role=no-such`, 0],
    [`${members}?role=owner&status=active`, 1],
    [`${members}?status=suspended`, 0],
    [`${members}?user_id=${ids[3]?.toUpperCase()}`, 1],
    [`${members}?department_id=${ids[3]}`, 0],
    [`${users}?department_id=${ids[3]}`, 0],
    ['/api/v1/tenants/?status=active', 1],
    ['/api/v1/tenants/?status=archived', 0],
  ]
  for (const [path, count] of cases) {
    const { status, body } = await ada.get(path)
    t.equal(status, 200, path)
    t.equal(body.count, count, path)
    t.equal(body.results.length, Math.min(count, 20), path)
  }
})

t.test('created_at can be limited from both sides, and includes both limits', async (t) => {
  const at = (n: number) => new Date(since + n * second).toISOString()
  const bounds = `created_at__gte=${at(10)}&created_at__lte=${at(12)}`
  t.equal((await ada.get(`${users}?${bounds}`)).body.count, 3)
  t.equal((await ada.get(`${members}?${bounds}&search=first11`)).body.count, 1)
  const east = encodeURIComponent(new Date(since + 3_600_000).toISOString().replace('Z', '+01:00'))
  t.equal((await ada.get(`${users}?created_at__lte=${east}`)).body.count, 1, 'with an offset')
  t.equal((await ada.get(`${users}?created_at__gte=0001-01-01T00:00:00Z`)).body.count, 47)
  t.equal((await ada.get(`${users}?created_at__gte=9999-12-31T23:59:59Z`)).body.count, 0)
  t.equal((await ada.get(`${users}?created_at__lte=0000-01-01T00:00:00Z`)).body.count, 0)
})

t.test('search finds the beginning of an address, a first and a last name, in any case', async (t) => {
  const found = async (text: string) =>
    (await ada.get(`${users}?search=${encodeURIComponent(text)}&page_size=100`)).body.count
  t.equal(await found('ADA'), 1)
  t.equal(await found(' love '), 1)
  t.equal(await found('crowd-00000'), 10)
  t.equal(await found('First4'), 7)
  t.equal(await found('last45'), 1)
  t.equal(await found('ovelace'), 0, 'the middle of a word does not match')
  t.equal(await found('%'), 0, 'there are no wildcards')
  t.equal(await found('_da'), 0)
  t.equal(await found(''), 47, 'an empty search does not filter')
  t.equal((await ada.get(`/api/v1/tenants/?search=ADA`)).body.count, 1)
})

t.test('names in other alphabets can be searched', async (t) => {
  const ärzte = await service.signUp({ first_name: 'Ärzte', last_name: 'Ōoka', email: 'z@example.com' })
  for (const text of ['är', 'ÄRZTE', 'ōo', 'ŌOKA'])
    t.equal((await ärzte.get(`${users}?search=${encodeURIComponent(text)}`)).body.count, 1, text)
})

t.test('a page of a filtered list leads to the next of the same filters', async (t) => {
  const pages = await walk(ada, `${users}?search=first1&page_size=4&ordering=-email&is_active=TRUE`)
  t.equal(emails(pages).length, 12)
  t.equal(pages[0].count, 12)
})

t.test('a parameter with the wrong form is refused, and the error names it', async (t) => {
  const cases = [
    ['is_active', 'maybe'],
    ['department_id', 'x'],
    ['email', 'nobody'],
    ['role', ''],
    ['created_at__gte', 'yesterday'],
    ['created_at__lte', '2026-02-30T00:00:00Z'],
    ['ordering', 'password_hash'],
    ['ordering', 'name'],
    ['ordering', '--email'],
    ['ordering', 'email,created_at'],
    ['ordering', '__proto__'],
    ['search', 'x'.repeat(255)],
    ['page_size', '0'],
    ['page_size', '-1'],
    ['page_size', 'many'],
    ['cursor', ''],
    ['cursor', 'W10.AAAA'],
  ] as const
  for (const [name, value] of cases) {
    const { status, body } = await ada.get(`${users}?${name}=${encodeURIComponent(value)}`)
    t.equal(status, 400, `${name}=${value}`)
    t.equal(body.errors?.[0]?.field, name)
    t.type(body[name]?.[0], 'string')
  }
  for (const [name, value] of [
    ['status', 'gone'],
    ['user_id', '1'],
  ])
    t.equal((await ada.get(`${members}?${name}=${value}`)).status, 400)
  t.equal(
    (await ada.get(`${users}?page_size=1000`)).body.results.length,
    47,
    'a larger size gives the maximum',
  )
})

t.test('a cursor works for one list, one tenant, one set of filters and one ordering', async (t) => {
  const { next } = (await ada.get(`${users}?page_size=2`)).body
  const cursor = new URL(next).searchParams.get('cursor')!
  const refused = async (path: string, client = ada) => {
    const { status, body } = await client.get(path)
    t.equal(status, 400, path)
    t.match(body.errors, [{ field: 'cursor' }])
  }
  t.equal((await ada.get(`${users}?cursor=${cursor}&page_size=5`)).status, 200, 'with any page size')
  await refused(`${users}?cursor=${cursor}&search=ada`)
  await refused(`${users}?cursor=${cursor}&ordering=email`)
  await refused(`${users}?cursor=${cursor}&is_active=true`)
  await refused(`${members}?cursor=${cursor}`)
  const stranger = await service.signUp()
  await refused(`${users}?cursor=${cursor}`, stranger)
  for (const at of [0, 5, 30, cursor.length - 2]) {
    const flipped = cursor[at] === 'A' ? 'B' : 'A'
    await refused(`${users}?cursor=${cursor.slice(0, at)}${flipped}${cursor.slice(at + 1)}`)
  }
})

t.test('a cursor reveals nothing about the row at its position', async (t) => {
  const lengths = new Set<number>()
  for (const ordering of ['email', 'created_at', '-email']) {
    const { next, results } = (await ada.get(`${users}?page_size=3&ordering=${ordering}`)).body
    const cursor = new URL(next).searchParams.get('cursor')!
    lengths.add(cursor.length)
    const bytes = cursor.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'))
    const { email, membership_id: id } = results.at(-1)
    for (const secret of [email, id, email.slice(0, 8), id.slice(0, 8), String(since).slice(0, 6)])
      t.notOk(`${cursor} ${bytes.join(' ')}`.includes(secret), `${ordering} ${secret}`)
  }
  t.equal(lengths.size, 1, 'its length is always the same')
})

/** Runs `work` while a policy of the tenant of `ada` exists. */
async function under(policy: object, work: () => Promise<void>): Promise<void> {
  const { status, body } = await ada.post('/api/v1/policies/', { name: 'x', ...policy })
  if (status !== 201) throw new Error(JSON.stringify(body))
  await work()
  await ada.delete(`/api/v1/policies/${body.id}/`)
}

/** The body of an answer that does not match its schema because of a mask. */
async function unchecked(path: string) {
  const response = await fetch(new URL(path, service.url), {
    headers: { authorization: `Bearer ${ada.access}` },
  })
  return JSON.parse(await response.text())
}

/** For each list that policies can mask: the parameters that reveal each of its fields. */
const asking: Record<string, { action: string; fields: Record<string, string[]> }> = {
  '/api/v1/users/': {
    action: 'user:list',
    fields: {
      email: ['email=ada@example.com', 'ordering=email', 'ordering=-email'],
      roles: ['role=member'],
      is_active: ['is_active=true'],
      department_id: [`department_id=${ada.tenantId}`],
      date_joined: ['created_at__gte=2026-01-01T00:00:00Z', 'created_at__lte=2026-01-01T00:00:00Z'],
    },
  },
  '/api/v1/tenants/:id/invitations/': {
    action: 'invitation:list',
    fields: {
      email: ['email=ada@example.com', 'ordering=email'],
      status: ['status=pending'],
      created_at: ['created_at__gte=2026-01-01T00:00:00Z', 'created_at__lte=2026-01-01T00:00:00Z'],
    },
  },
  '/api/v1/attribute-definitions/': {
    action: 'attribute_definition:list',
    fields: {
      category: ['category=action'],
      data_type: ['data_type=ip'],
      managed_by: ['managed_by=x'],
      created_at: ['created_at__gte=2026-01-01T00:00:00Z', 'created_at__lte=2026-01-01T00:00:00Z'],
    },
  },
  '/api/v1/decisions/': {
    action: 'decision:list',
    fields: {
      kind: ['kind=question'],
      effect: ['effect=deny'],
      action: ['action=tenant:read'],
      'subject.id': ['subject_id=x'],
      resource: ['resource_type=x', 'resource_id=x'],
      at: ['created_at__gte=2026-01-01T00:00:00Z', 'created_at__lte=2026-01-01T00:00:00Z'],
    },
  },
  '/api/v1/audit-log/': {
    action: 'audit:list',
    fields: {
      action: ['action=tenant:read'],
      actor: [`actor_id=${ada.id}`],
      'impersonator.id': [`impersonator_id=${ada.id}`],
      'target.id': [`target_id=${ada.id}`],
      at: ['created_at__gte=2026-01-01T00:00:00Z', 'created_at__lte=2026-01-01T00:00:00Z'],
    },
  },
}

t.test('no list can be filtered or ordered by a field that is masked for the caller', async (t) => {
  const document = (await service.call('GET', '/openapi.json')).body
  for (const [template, { action, fields }] of Object.entries(asking)) {
    const path = template.replace(':id', ada.tenantId)
    const parameters = document.paths[template.replace(':id', '{id}')].get.parameters
    const due = parameters.flatMap(({ name, in: place }: { name: string; in: string }) =>
      place === 'query' && !['page_size', 'cursor', 'search'].includes(name) ? [name] : [],
    )
    const asked = Object.values(fields).flatMap((queries) => [...queries, 'ordering=created_at'])
    t.same(
      new Set(asked.map((query) => query.split('=')[0])),
      new Set(due),
      `${path}: every parameter is tested`,
    )
    for (const query of asked) t.equal((await ada.get(`${path}?${query}`)).status, 200, query)
    const mask = { type: 'mask_fields', properties: { fields: Object.keys(fields) } }
    await under({ effect: 'allow', actions: [action], obligations: [mask] }, async () => {
      t.ok((await unchecked(path)).results, 'the list itself can be read')
      for (const query of asked)
        t.match(
          await ada.get(`${path}?${query}`),
          { status: 403, body: { decision_id: String, reasons: [{ code: 'masked_field' }] } },
          `${path}?${query}`,
        )
    })
  }
})

t.test('a field that is masked in some rows cannot be used to filter any', async (t) => {
  const mask = { type: 'mask_fields', properties: { fields: ['email'] } }
  const conditions = { attribute: 'resource.roles', operator: 'contains', value: 'owner' }
  await under({ effect: 'allow', actions: ['user:list'], conditions, obligations: [mask] }, async () => {
    t.equal((await ada.get(`${users}?email=${ada.email}`)).status, 403)
    t.equal((await ada.get(`${users}?role=member`)).status, 200)
  })
})

t.test('a search skips masked fields', async (t) => {
  const found = async (text: string) => (await unchecked(`${users}?search=${text}`)).count
  t.equal(await found('ada'), 1)
  const hide = (fields: string[]) => ({
    effect: 'allow',
    actions: ['user:list'],
    obligations: [{ type: 'mask_fields', properties: { fields } }],
  })
  await under(hide(['email']), async () => {
    t.equal(await found('ada@'), 0)
    t.equal(await found('lovel'), 1)
  })
  await under(hide(['email', 'first_name', 'last_name']), async () => {
    t.equal(await found('ada'), 0)
  })
})

t.test('count and pages do not reveal withheld rows', async (t) => {
  // Policies see a person's address once it is verified.
  await proveAddress(service, ada, ...ids.map((id) => ({ id })))
  const conditions = { attribute: 'resource.email', operator: 'starts_with', value: 'crowd-00000' }
  const all = emails(await walk(ada, `${users}?page_size=100`))
  const open = all.filter((email) => !email.startsWith('crowd-00000'))
  await under({ effect: 'deny', actions: ['user:list'], conditions }, async () => {
    for (const size of [1, 4, 40]) {
      const pages = await walk(ada, `${users}?page_size=${size}`)
      t.same(emails(pages), open)
      t.ok(pages.every(({ count }) => count === null))
      t.ok(
        pages.slice(0, -1).every(({ results }) => results.length === size),
        'each page but the last is full',
      )
      t.ok(pages.at(-1).results.length > 0, 'and no page is empty')
    }
    t.match((await ada.get(`${users}?search=crowd-00000&page_size=1`)).body, {
      next: null,
      previous: null,
      results: { length: 0 },
    })
    const last = (await walk(ada, `${users}?page_size=7`)).at(-1)
    const back = (await ada.get(last.previous)).body
    t.equal(back.results.length, 7)
    t.same(emails([back, last]), open.slice(-7 - last.results.length))
  })
})

t.test('the document names the parameters of each list', async (t) => {
  const document = (await service.call('GET', '/openapi.json')).body
  const parameters = document.paths['/api/v1/users/'].get.parameters
  const named = (name: string) => parameters.find((each: { name: string }) => each.name === name)?.schema
  t.match(named('is_active'), { type: 'boolean' })
  t.match(named('page_size'), { minimum: 1, maximum: 100 })
  t.equal((await ada.get('/api/v1/users/?page_size=101')).status, 200, 'lowered to 100')
  t.match(named('department_id'), { type: 'string', format: 'uuid' })
  t.match(named('created_at__gte'), { type: 'string', format: 'date-time' })
  t.same(named('ordering').enum, ['created_at', '-created_at', 'email', '-email'])
  t.ok(named('search'))
})
