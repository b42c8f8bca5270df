import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { builtInAttributes } from '../../src/policy-engine/catalogue/built-in-attributes.ts'
import { type DataType, operatorsByType } from '../../src/policy-engine/compile/conditions.ts'
import { colleague } from '../helpers/colleague.ts'
import { rounds } from '../helpers/rounds.ts'
import { startService } from '../helpers/service.ts'

// Whatever the policies, a list shows exactly the rows that the detail routes show, with the same fields masked. The
// policies are generated from the rows themselves, so that their conditions separate them. They name all actions of a
// type, or the action of a detail alone.

const unlimited = { RATE_LIMIT_ENABLED: 'false', LIMIT_DECISION_MS_PER_SECOND: '1000' }
const service = await startService(t, { workers: false, env: unlimited })
const owner = await service.signUp()
const admin = await colleague(service, owner, 'admin')
const clerk = await colleague(service, owner)
const tenant = `/api/v1/tenants/${owner.tenantId}/`

type Row = Record<string, unknown> & { id: string }

const made = async (path: string, body: object, method: 'post' | 'put' = 'post') => {
  const answer = await owner[method](path, body)
  if (answer.status !== 201) throw new Error(`${path} ${JSON.stringify(answer.body)}`)
  return answer.body as Row
}

for (const [key, data_type] of [
  ['slug', 'string'],
  ['description', 'string'],
  ['is_active', 'boolean'],
  ['resource_type', 'string'],
  ['actions', 'array'],
])
  await made('/api/v1/attribute-definitions/', { category: 'resource', key, data_type })
const works = await made(`${tenant}departments/`, { name: 'Works' })
const paint = await made(`${tenant}departments/`, { name: 'Paint', parent_id: works.id })
await made(`${tenant}departments/`, { name: 'Sales', description: 'Sells' })
const staff = (await owner.get(`${tenant}members/`)).body.results as Row[]
const clerksPlace = staff.find(({ user_id }) => user_id === clerk.id)!.id
const changed = { department_id: paint.id, manager_id: admin.id }
await owner.patch(`${tenant}members/${clerksPlace}/`, changed)
await made(`${tenant}roles/`, { name: 'Painter', description: 'Paints' })
const driver = await made(`${tenant}roles/`, { name: 'Driver' })
await made(`${tenant}invitations/`, { email: 'one@example.com', department_id: works.id })
await made(`${tenant}invitations/`, { email: 'two@example.com', roles: ['admin'] })
await made('/api/v1/webhooks/', { url: 'https://receiver.example/', is_active: false })
await made('/api/v1/webhooks/', { url: 'https://other.example/', description: 'Other', is_active: false })
await made('/api/v1/resources/machine/1/', { owner_id: clerk.id, department_id: paint.id }, 'put')
await made('/api/v1/resources/machine/2/', { department_id: works.id }, 'put')
await made('/api/v1/resources/tool/1/', { owner_id: admin.id }, 'put')
await made('/api/v1/service-accounts/', { name: 'Robot' })
await made('/api/v1/policies/', { name: 'One', effect: 'deny', actions: ['doc:read'], is_active: false })
const gate = { name: 'Four eyes', effect: 'require_approval', actions: ['role:delete'] }
await made('/api/v1/policies/', { ...gate, approval: { approver: { roles: ['owner'] } } })
if ((await admin.delete(`${tenant}roles/${driver.id}/`)).status !== 403) throw new Error('not gated')

/** Lists with the paths of their details, and the actions of these; `few` rows are enough of a long list. */
const kinds: Record<string, { list: string; detail(row: Row): string; reads?: string; few?: number }> = {
  user: { list: '/api/v1/users/', detail: ({ id }) => `/api/v1/users/${id}/`, reads: 'user:read' },
  member: { list: `${tenant}members/`, detail: ({ id }) => `${tenant}members/${id}/` },
  role: { list: `${tenant}roles/`, detail: ({ id }) => `${tenant}roles/${id}/` },
  department: { list: `${tenant}departments/`, detail: ({ id }) => `${tenant}departments/${id}/` },
  invitation: { list: `${tenant}invitations/`, detail: ({ id }) => `${tenant}invitations/${id}/` },
  webhook: { list: '/api/v1/webhooks/', detail: ({ id }) => `/api/v1/webhooks/${id}/` },
  policy: {
    list: '/api/v1/policies/',
    detail: ({ id }) => `/api/v1/policies/${id}/`,
    reads: 'policy:read',
    few: 2,
  },
  approval_request: {
    list: '/api/v1/approval-requests/',
    detail: ({ id }) => `/api/v1/approval-requests/${id}/`,
    reads: 'approval_request:read',
  },
  attribute_definition: {
    list: '/api/v1/attribute-definitions/',
    detail: ({ id }) => `/api/v1/attribute-definitions/${id}/`,
    few: 4,
  },
  service_account: {
    list: '/api/v1/service-accounts/',
    detail: ({ id }) => `/api/v1/service-accounts/${id}/`,
    reads: 'service_account:read',
  },
  registered_resource: {
    list: '/api/v1/resources/',
    detail: ({ resource_type, resource_id }) => `/api/v1/resources/${resource_type}/${resource_id}/`,
  },
}

/** What the admin gets, without the check against the schema: masked fields are null. */
async function seen(path: string): Promise<{ status: number; body: Record<string, unknown> }> {
  const headers = { authorization: `Bearer ${admin.access}` }
  const answer = await fetch(new URL(path, service.url), { headers })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

/** All rows of a list as the admin sees them, page by page. */
async function rowsOf(list: string, size: number): Promise<Row[]> {
  const rows: Row[] = []
  for (let next: string | null = `${list}?page_size=${size}`; next; ) {
    const { status, body } = await seen(next.replace(/^https?:\/\/[^/]+/, ''))
    if (status === 403 || status === 401) return rows
    if (status !== 200) throw new Error(`${next} ${status} ${JSON.stringify(body)}`)
    rows.push(...(body.results as Row[]))
    next = body.next as string | null
  }
  return rows
}

const known = new Map<string, Row[]>()
for (const [kind, { list, few }] of Object.entries(kinds)) {
  const rows = await rowsOf(list, 100)
  known.set(kind, few ? [...rows.slice(0, few / 2), ...rows.slice(-few / 2)] : rows)
}

const types: Record<string, DataType> = {
  ...Object.fromEntries([...builtInAttributes].map(([name, { type }]) => [name, type])),
  'resource.slug': 'string',
  'resource.description': 'string',
  'resource.is_active': 'boolean',
  'resource.resource_type': 'string',
  'resource.actions': 'array',
}

/** The values of a field in any row: of an array, its items. */
const valuesOf = (key: string) => {
  const values = [...known.values()].flat().flatMap((row) => row[key] ?? [])
  return [...new Set([...values, admin.id, works.id])].filter((value) => typeof value !== 'object')
}

const textual = ['eq', 'ne', 'in', 'not_in', 'starts_with', 'contains']
const comparable = Object.entries(types).filter(
  ([name, type]) => name.startsWith('resource.') && ['string', 'boolean', 'array', 'datetime'].includes(type),
)

const leaf = fc.constantFrom(...comparable).chain(([attribute, type]) => {
  const fitting = valuesOf(attribute.slice(9)).filter((value) =>
    type === 'datetime'
      ? Number.isFinite(Date.parse(String(value)))
      : typeof value === type || type === 'array',
  )
  const value = fitting.length > 0 ? fc.constantFrom(...fitting) : fc.constant('none')
  const operators = (operatorsByType[type] as readonly string[]).filter((name) =>
    type === 'string' ? textual.includes(name) || name.endsWith('exists') : name !== 'between',
  )
  const related = attribute.endsWith('department_id') ? ['in_department'] : []
  return fc.constantFrom(...operators, ...related).chain((operator): fc.Arbitrary<object> => {
    if (operator.endsWith('exists')) return fc.constant({ attribute, operator })
    if (operator === 'in_department') return fc.constant({ attribute, operator, value: works.id })
    if (type === 'boolean') return fc.boolean().map((value) => ({ attribute, operator, value }))
    const list = operator.endsWith('in') || ['contains_any', 'contains_all', 'subset_of'].includes(operator)
    const operand = list ? fc.array(value, { minLength: 1, maxLength: 3 }) : value
    if (type === 'datetime' && fitting.length === 0) return fc.constant({ attribute, operator, value: 'now' })
    if (attribute.endsWith('owner_id') && operator === 'eq')
      return fc.constant({ attribute, operator, value_from: 'subject.id' })
    return operand.map((value) => ({ attribute, operator, value }))
  })
})
const group = (members: fc.Arbitrary<object>) =>
  fc
    .tuple(fc.constantFrom('all', 'any', 'none'), fc.array(members, { minLength: 1, maxLength: 3 }))
    .map(([name, of]) => ({ [name]: of }))
const conditions = fc.oneof(leaf, group(leaf), group(fc.oneof(leaf, group(leaf))))

const mask = fc
  .uniqueArray(fc.constantFrom('email', 'name', 'key', 'user', 'user.email', 'roles', 'description'), {
    minLength: 1,
    maxLength: 2,
  })
  .map((fields) => ({ type: 'mask_fields', properties: { fields } }))
const stepUp = fc.constantFrom({ type: 'step_up', properties: { acr: 'aal2' } })
const wildcards = Object.keys(kinds).map((kind) => `${kind}:*`)
const single = Object.entries(kinds).map(([kind, { reads = `${kind}:list` }]) => reads)
const someOf = (names: string[]) => fc.oneof(fc.constant(names), fc.subarray(names, { minLength: 1 }))
const policies = fc.array(
  fc.record({
    effect: fc.constantFrom('allow' as const, 'deny' as const, 'allow' as const),
    actions: fc.oneof(someOf(wildcards), someOf(single)),
    conditions,
    obligations: fc.array(fc.oneof(mask, stepUp), { minLength: 1, maxLength: 1 }),
  }),
  { minLength: 1, maxLength: 3 },
)

type Generated = typeof policies extends fc.Arbitrary<(infer One)[]> ? One : never

async function inForce(generated: readonly Generated[], check: () => Promise<void>) {
  const ids: string[] = []
  for (const { obligations, ...policy } of generated) {
    // A denial needs no obligations, and those of an allow bind where it has a say.
    const body = { ...policy, obligations: policy.effect === 'allow' ? obligations : [] }
    ids.push((await made('/api/v1/policies/', { name: 'Generated', ...body })).id)
  }
  await check()
  for (const id of ids) await owner.delete(`/api/v1/policies/${id}/`)
}

/** One row of each list, denied or masked by the action of its detail alone. */
const ids = Object.keys(kinds).flatMap((kind) => known.get(kind)?.at(-1)?.id ?? [])
const oneRow = { actions: single, conditions: { attribute: 'resource.id', operator: 'in', value: ids } }
const masking: Generated['obligations'][number] = { type: 'mask_fields', properties: { fields: ['email'] } }
const aboutOneRow: [Generated[], number][] = [
  [[{ ...oneRow, effect: 'deny', obligations: [masking] }], 5],
  [[{ ...oneRow, effect: 'allow', obligations: [masking] }], 100],
]

let [shown, withheld, masked] = [0, 0, 0]

/** Compares a list with its details, and throws for the first difference. */
async function compare(kind: string, size: number) {
  const { list, detail } = kinds[kind]!
  const listed = new Map((await rowsOf(list, size)).map((row) => [JSON.stringify(detail(row)), row]))
  const rows = known.get(kind)!
  const details = await Promise.all(rows.map((row) => seen(detail(row))))
  for (const [index, row] of rows.entries()) {
    const one = details[index]!
    const inList = listed.get(JSON.stringify(detail(row)))
    const about = `${kind} ${row.id}: the detail is ${one.status}, the list has ${JSON.stringify(inList)}`
    if (one.status !== 200) {
      withheld++
      if (inList) throw new Error(about)
      continue
    }
    shown++
    if (!inList) throw new Error(about)
    for (const [field, value] of Object.entries(inList)) {
      if (field in one.body && !isDeepStrictEqual(one.body[field], value))
        throw new Error(`${about} ${field} ${JSON.stringify(one.body[field])}`)
      if (value === null && row[field] !== null) masked++
    }
  }
}

t.test('a list shows what the details show, under generated policies', async (t) => {
  const property = fc.asyncProperty(policies, fc.constantFrom(5, 100), async (generated, size) => {
    await inForce(generated, async () => {
      await Promise.all(Object.keys(kinds).map((kind) => compare(kind, size)))
    })
  })
  // A shrunk case would begin with the policies of the failed one still in force.
  const runs = rounds(6, 400)
  const quick = runs === 6 && { seed: 20_260_109, examples: aboutOneRow }
  await fc.assert(property, { numRuns: runs, endOnFailure: true, ...quick })
  t.comment(`${runs} rounds: ${shown} rows shown, ${withheld} withheld, ${masked} fields masked`)
  t.ok(shown > runs && withheld > runs && masked > 0)
})
