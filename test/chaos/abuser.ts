import { setTimeout as sleep } from 'node:timers/promises'

// A process of its own: one tenant that spends everything that the limits allow, and as much again that they refuse.
//   node abuser.ts <url of the API> <url of a receiver> <seconds> <limit of webhooks> <limit of roles>
// Prints what it made, and the number of answers by status. Fails unless it has all that the limits allow.

const [url = '', receiver = '', seconds = '0', ...limits] = process.argv.slice(2)
const [maxWebhooks = 0, maxRoles = 0] = limits.map(Number)
const maxPolicies = 500
const people = 10
/** Calls a second of one person. Their limit is 10, that of the tenant 100. */
const rate = 20
const password = 'a quiet harbour'

// biome-ignore lint/suspicious/noExplicitAny: each route has another body
type Json = any
interface Person {
  id: string
  access: string
}

const counts = new Map<number, number>()

async function call(person: Person | null, method: string, path: string, body?: unknown): Promise<Json> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(person && { authorization: `Bearer ${person.access}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch(() => null)
  const status = response?.status ?? 0
  counts.set(status, (counts.get(status) ?? 0) + 1)
  const text = (await response?.text()) ?? ''
  // Last, because a webhook has a member of this name.
  return { ...(text && JSON.parse(text)), status }
}

const api = '/api/v1'
const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())

async function join(n: number): Promise<Person> {
  const email = `abuser${n}.${Date.now()}@example.com`
  const { id } = await call(null, 'POST', `${api}/auth/register/`, { email, password })
  const { access } = await call(null, 'POST', `${api}/auth/login/`, { email, password })
  return { id, access }
}

/** As costly as a policy may be. Not all of them can be active: together they would be too costly. */
const conditions = {
  all: Array.from({ length: 20 }, () => ({
    attribute: 'subject.email',
    operator: 'matches',
    value: '^[a-z0-9.]*@[a-z]*\\.com$',
  })),
}
const policy = (n: number) => ({
  name: `Policy ${n}`,
  effect: n % 2 ? 'deny' : 'allow',
  actions: [`thing:verb${n % 40}`],
  conditions,
  ...(n % 3 === 0 && { mode: 'shadow' }),
})
const gate = { name: 'Four eyes', effect: 'require_approval', actions: ['department:create'], approval: {} }

interface Ground {
  tenant: string
  /** The id of a membership. */
  member: string
  roles: string[]
  policies: string[]
}

/** Sends a call again, up to 30 s, while the service is busy or a limit of calls is reached. */
async function insist(...asked: Parameters<typeof call>): Promise<Json> {
  for (let tries = 1; ; tries++) {
    const answer = await call(...asked)
    if (![0, 429, 503].includes(answer.status) || tries === 30) return answer
    await sleep(1_000)
  }
}

/** Makes `max` things. Throws unless all are made, and one more is refused because of the limit. */
async function makeAll(what: string, max: number, make: (n: number) => Promise<Json>): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n <= max; n++) {
    const { status, code, id } = await make(n)
    if (n < max ? status !== 201 : code !== 'limit_reached')
      throw new Error(`Of ${max} ${what} the abuser made ${n}, then got ${status} ${code}`)
    if (id) ids.push(id)
  }
  return ids
}

/** Fills everything that has a limit: webhooks, roles, policies. The people take turns, since each has a limit. */
async function fill(people: readonly Person[], tenant: string, member: string) {
  const post = (n: number, path: string, body: object) =>
    insist(people[n % people.length]!, 'POST', path, body)
  const webhooks = await makeAll('webhooks', maxWebhooks, (n) =>
    post(0, `${api}/webhooks/`, { url: `${receiver}/stall?n=${n}` }),
  )
  const roles = await makeAll('roles', maxRoles, (n) =>
    post(n, `${tenant}/roles/`, { name: `Role ${n}`, permissions: ['thing:read'] }),
  )
  let active = 0
  const policies = await makeAll('policies', maxPolicies, async (n) => {
    const made = await post(n, `${api}/policies/`, n === 0 ? gate : policy(n))
    if (made.status === 201) active++
    return made.status === 422 ? post(n, `${api}/policies/`, { ...policy(n), is_active: false }) : made
  })
  // A policy for each of the 40 actions is below the bound of their cost.
  if (active < 40) throw new Error(`Only ${active} policies of the abuser are active`)
  const made = { webhooks: webhooks.length, roles: roles.length, policies: policies.length, active }
  return { made, ground: { tenant, member, roles, policies } }
}

const any = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!
const question = (id: string, n: number) => ({
  subject: { type: 'user', id },
  action: { name: `thing:verb${n % 40}` },
  resource: { type: 'thing', id: String(n) },
})
const text = () => Math.random().toString(36)

/** What a person can do, each as costly as its bounds allow. */
const acts: ((person: Person, ground: Ground, n: number) => Promise<unknown>)[] = [
  (person, { tenant, roles }) =>
    call(person, 'PATCH', `${tenant}/roles/${any(roles)}/`, { name: `R ${text()}` }),
  (person, { tenant, roles }) =>
    call(person, 'PATCH', `${tenant}/roles/${any(roles)}/`, { description: text() }),
  (person, { policies }) =>
    call(person, 'PATCH', `${api}/policies/${any(policies)}/`, { description: text() }),
  (person, _, n) => call(person, 'POST', `${api}/policies/preview-draft/`, { draft: policy(n) }),
  (person, { policies }) => call(person, 'POST', `${api}/policies/${any(policies)}/preview/`, {}),
  (person, { tenant }) => call(person, 'GET', `${tenant}/members/?search=${text()}&page_size=100`),
  (person, _, n) =>
    call(person, 'POST', '/access/v1/search/subject', {
      ...question(person.id, n),
      subject: { type: 'user' },
    }),
  (person, _, n) =>
    call(person, 'POST', '/access/v1/evaluations', {
      evaluations: Array.from({ length: 50 }, (_, m) => question(person.id, n + m)),
    }),
  (person, _, n) => call(person, 'POST', '/access/v1/evaluation', question(person.id, n)),
  (person, { tenant }) => call(person, 'POST', `${tenant}/departments/`, { name: text() }),
  (person, { tenant, member }) =>
    call(person, 'POST', `${tenant}/members/${member}/impersonate/`, { reason: 'To waste a decision' }),
  (person) => call(person, 'GET', `${api}/audit-log/?page_size=100`),
]

async function spend(person: Person, ground: Ground, end: number): Promise<void> {
  const pending = new Set<Promise<unknown>>()
  for (let n = 0; performance.now() < end; n++) {
    const act = acts[n % acts.length]!(person, ground, n).finally(() => pending.delete(act))
    pending.add(act)
    await sleep(1_000 / rate)
    if (pending.size >= 10) await Promise.race(pending)
  }
  await Promise.all(pending)
}

const owner = await join(0)
const tenant = `${api}/tenants/${claimsOf(owner.access).tenant_id}`
const others: Person[] = []
let member = ''
for (let n = 1; n < people; n++) {
  const person = await join(n)
  member = (await call(owner, 'POST', `${tenant}/members/`, { user_id: person.id, roles: ['admin'] })).id
  const { access } = await call(person, 'POST', `${api}/auth/switch-tenant/`, {
    tenant_id: claimsOf(owner.access).tenant_id,
  })
  others.push({ ...person, access })
}
const { made, ground } = await fill([owner, ...others], tenant, member)
const end = performance.now() + Number(seconds) * 1_000
await Promise.all([owner, ...others].map((person) => spend(person, ground, end)))
// Each call is about something that is there, so none may end before it is decided.
if (counts.has(404)) throw new Error(`${counts.get(404)} calls of the abuser were answered 404`)
console.log(JSON.stringify({ made, answers: Object.fromEntries(counts) }))
