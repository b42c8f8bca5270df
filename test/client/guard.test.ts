import { decodeJwt } from 'jose'
import t from 'tap'
import {
  type Access,
  bearer,
  createClient,
  createGuard,
  type GuardOptions,
  keepFresh,
  type Refusal,
  tokenVerifier,
} from '../../packages/client/exports.ts'
import { about, newInvoice, openHouse } from '../authorization/approvals/counting-house.ts'
import { approve } from '../authorization/approvals/office.ts'
import { startService } from '../helpers/service.ts'
import { createOwnKey, createProgram } from '../identity/api-keys/holders.ts'
import { codeAt, enrol } from '../identity/otp/authenticator.ts'
import { expect, foundFirm } from '../tenancy/staff.ts'

const service = await startService(t)
service.advance(Date.now() - service.now()) // jose uses the clock of the machine
const { url } = service
const { issuer, audience } = service.deps.signer.names()
const read: Access = { action: 'invoice:read', resource: { type: 'invoice', id: '7' } }
const { owner, role, hire, id: tenantId } = await foundFirm(service)
const reader = await role('invoice:read')
const clerk = await hire(reader)

/** A guard that is ready, with what it told of its refusals. */
async function readyGuard(options: Partial<GuardOptions> = {}) {
  const told: [Refusal, { cause?: unknown; access?: Access }][] = []
  const guard = createGuard({
    client: createClient({ url }),
    verify: tokenVerifier({ url, issuer }),
    onRefusal: (refusal, about) => void told.push([refusal, about]),
    ...options,
  })
  await guard.ready()
  return { guard, told }
}
const { guard, told } = await readyGuard()
const named = (access: Access) => () => access
const bodyOf = (refusal: Refusal) => JSON.parse(refusal.body)

/** The refusal of a guard. Throws if it lets the request in. */
async function refused(outcome: ReturnType<typeof guard>): Promise<Refusal> {
  const found = await outcome
  if ('caller' in found) throw new Error(`Let in: ${JSON.stringify(found)}`)
  return found.refusal
}

/** A way to the service that answers decisions itself. */
const answering =
  (status: number, body: object, headers: Record<string, string> = {}): typeof fetch =>
  async (input, init) =>
    String(input).includes('/access/v1/evaluation')
      ? new Response(JSON.stringify(body), { status, headers })
      : fetch(input, init)

t.test('a guard is ready when the service issues what it expects, and refuses before', async (t) => {
  const client = createClient({ url })
  const early = createGuard({ client, verify: tokenVerifier({ url, issuer }) })
  const before = await refused(early(`Bearer ${clerk.access}`))
  t.match(before, { status: 503, code: 'unavailable', headers: { 'retry-after': '1' } })
  await early.ready()
  t.match(await early(`Bearer ${clerk.access}`), { caller: { kind: 'user', sub: clerk.id } })
  await early.ready()

  for (const [expects, said] of [
    [
      { issuer: 'https://other.example' },
      `the issuer "${issuer}", and your application expects "https://other.example"`,
    ],
    [{ issuer, audience: 'shop' }, `the audience "${audience}", and your application expects "shop"`],
  ] as const) {
    const seen: unknown[] = []
    const wrong = createGuard({
      client,
      verify: tokenVerifier({ url, ...expects }),
      onRefusal: (_refusal, { cause }) => void seen.push(cause),
    })
    await t.rejects(wrong.ready(), { name: 'WrongService', message: new RegExp(said) })
    t.match(await refused(wrong(`Bearer ${clerk.access}`)), { status: 503 }, 'no silent 401')
    t.match(seen, [{ name: 'WrongService' }])
  }
})

t.test('a guard that was never awaited works once the service has answered', async (t) => {
  let isAway = true
  const away: typeof fetch = (input, init) =>
    isAway ? Promise.reject(new TypeError('connection refused')) : fetch(input, init)
  const client = createClient({ url, fetch: away })
  const lazy = createGuard({ client, verify: tokenVerifier({ url, issuer }) })
  await t.rejects(lazy.ready(), { name: 'NoAnswer' })
  t.match(await refused(lazy(`Bearer ${clerk.access}`)), { status: 503 })
  isAway = false
  for (;;) {
    const outcome = await lazy(`Bearer ${clerk.access}`)
    if ('caller' in outcome) break
    t.equal(outcome.refusal.status, 503)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
})

t.test('a key with the scopes of the application is let in, as its person or its account', async (t) => {
  const scopes = ['invoice:read']
  const personal = await createOwnKey(service, clerk, { scopes })
  const program = await createProgram(service, owner, [reader], { scopes })
  t.match(await guard(`Bearer ${personal.key}`, named(read)), {
    caller: {
      kind: 'personal_key',
      sub: clerk.id,
      tenant_id: tenantId,
      email: clerk.email,
      roles: [reader],
      permissions: scopes,
      key: { id: personal.id, scopes },
    },
    decision: { allowed: true, effect: 'allow' },
  })
  t.match(await guard(`Bearer ${program.key}`, named(read)), {
    caller: { kind: 'service_account', sub: program.accountId, tenant_id: tenantId, name: 'Program' },
  })
  const pay = { ...read, action: 'invoice:pay' }
  t.match(await refused(guard(`Bearer ${program.key}`, named(pay))), {
    status: 403,
    code: 'permission_denied',
    reasons: [{ code: 'scope_missing' }],
  })

  const gone = await createOwnKey(service, clerk, { scopes })
  t.match(await guard(`Bearer ${gone.key}`), { caller: { sub: clerk.id } })
  await expect(204, clerk.delete(`/api/v1/users/me/keys/${gone.id}/`))
  t.match(await refused(guard(`Bearer ${gone.key}`, named(read))), { status: 401, code: 'token_not_valid' })
  const later = await readyGuard()
  for (const key of [gone.key, `bwk_${'0'.repeat(71)}`, 'bwk_x'])
    t.match(await refused(later.guard(`Bearer ${key}`)), { status: 401, code: 'token_not_valid' })
})

t.test('whose a key is, is asked once in ten seconds, and not kept when it fails', async (t) => {
  const { key } = await createOwnKey(service, clerk, { scopes: ['invoice:read'] })
  let asked = 0
  let isAway = true
  const counting: typeof fetch = (input, init) => {
    if (!String(input).endsWith('/users/me/')) return fetch(input, init)
    asked++
    return isAway ? Promise.resolve(new Response('', { status: 503 })) : fetch(input, init)
  }
  const fresh = await readyGuard({ client: createClient({ url, fetch: counting }) })
  t.match(await refused(fresh.guard(`Bearer ${key}`)), { status: 503 })
  isAway = false
  asked = 0
  await Promise.all(Array.from({ length: 5 }, () => fresh.guard(`Bearer ${key}`)))
  t.match(await fresh.guard(`Bearer ${key}`), { caller: { kind: 'personal_key' } })
  t.equal(asked, 1)
})

t.test('a key that can be used at the service is refused, unless the guard takes it', async (t) => {
  const full = await createOwnKey(service, clerk)
  const mixed = await createOwnKey(service, clerk, { scopes: ['invoice:read', 'member:list'] })
  const { guard: open } = await readyGuard({ allowFullKeys: true })
  for (const { key } of [full, mixed]) {
    t.match(await refused(guard(`Bearer ${key}`, named(read))), { status: 403, code: 'key_not_allowed' })
    t.match(await open(`Bearer ${key}`, named(read)), { caller: { sub: clerk.id } })
  }
})

t.test('a refusal carries the decision and its reasons, and is told', async (t) => {
  told.length = 0
  const pay = { ...read, action: 'invoice:pay' }
  const refusal = await refused(guard(`Bearer ${clerk.access}`, named(pay)))
  t.match(refusal, {
    status: 403,
    code: 'permission_denied',
    decision_id: /^[0-9a-f-]{36}$/,
    reasons: [{ code: 'unknown_action' }, { code: 'missing_permission', message: /\w/ }],
  })
  const { decision_id, reasons } = refusal
  t.match(bodyOf(refusal), { status: 403, decision_id, reasons, detail: reasons![0]!.message })
  t.match(told, [[refusal, { caller: { sub: clerk.id }, access: pay }]])
  t.match(await expect(200, owner.get(`/api/v1/decisions/${decision_id}/`)), { action: 'invoice:pay' })
})

t.test('what a policy demands is refused, unless the application carries it out', async (t) => {
  const policy = {
    name: 'Watermarked',
    effect: 'allow',
    actions: ['invoice:print'],
    obligations: [{ type: 'watermark', properties: { text: 'copy' } }],
  }
  await expect(201, owner.post('/api/v1/policies/', policy))
  const print = { ...read, action: 'invoice:print' }
  t.match(await refused(guard(`Bearer ${clerk.access}`, named(print))), {
    status: 403,
    code: 'obligation_not_met',
    obligations: policy.obligations,
  })
  const { guard: printer } = await readyGuard({ obligations: ['watermark'] })
  t.match(await printer(`Bearer ${clerk.access}`, named(print)), {
    decision: { allowed: true, obligations: policy.obligations, unmet: [] },
  })
})

t.test('a step-up is 401 with what is lacking, until the person has shown a second factor', async (t) => {
  const policy = {
    name: 'A second factor within five minutes',
    effect: 'allow',
    actions: ['invoice:void'],
    obligations: [{ type: 'step_up', properties: { max_age: 300 } }],
  }
  await expect(201, owner.post('/api/v1/policies/', policy))
  const access = named({ ...read, action: 'invoice:void' })
  const person = await hire(reader)
  const refusal = await refused(guard(`Bearer ${person.access}`, access))
  t.match(refusal, { status: 401, code: 'insufficient_user_authentication' })
  t.equal(
    refusal.headers['www-authenticate'],
    'Bearer error="insufficient_user_authentication", acr_values="aal2", max_age="300"',
  )
  t.match(bodyOf(refusal), { acr_values: 'aal2', max_age: 300 })

  const { secret } = await enrol(service, person)
  await expect(200, person.post('/api/v1/auth/otp/verify/', { code: codeAt(secret, service.now(), 1) }))
  t.match(await guard(`Bearer ${person.access}`, access), { decision: { allowed: true, step_up: null } })

  const key = await createOwnKey(service, person, { scopes: ['invoice:void'] })
  t.match(await refused(guard(`Bearer ${key.key}`, access)), {
    status: 403,
    code: 'obligation_not_met',
    obligations: [{ type: 'step_up' }],
  })
})

t.test('an approval is named where it is required, and used by a handler that says so', async (t) => {
  const { clerk, approver } = await openHouse(service)
  const { action, resource } = about(newInvoice())
  const asks = { action, resource }
  const uses = { ...asks, usesApproval: true }
  const bearing = `Bearer ${clerk.access}`
  for (const access of [asks, uses]) {
    const refusal = await refused(guard(bearing, named(access)))
    const approval = { method: 'POST', path: '/api/v1/approval-requests/' }
    t.match(refusal, { status: 403, code: 'approval_required', approval, decision_id: String })
    t.match(bodyOf(refusal), { approval })
  }
  const { approvals } = createClient({ url, credentials: bearer(clerk.access) })
  const { id } = await approvals.request(asks)
  const pending = { code: 'approval_required', approval_request: { id, status: 'pending' } }
  t.match(await refused(guard(bearing, named(uses))), pending)
  await expect(200, approve(approver, id))
  t.match(await refused(guard(bearing, named(asks))), { code: 'approval_unused', approval_request: { id } })
  t.match(await guard(bearing, named(uses)), {
    decision: { allowed: false, effect: 'allow', approval_request: { id, valid_until: String } },
  })
  await approvals.consume(id, 'payment 1')
  t.match(await refused(guard(bearing, named(uses))), { code: 'approval_required' }, 'it is used')
})

t.test('429 and 503 of the service pass through, and no answer is 503', async (t) => {
  const of = async (fetch: typeof globalThis.fetch) =>
    refused(
      (await readyGuard({ client: createClient({ url, fetch }) })).guard(
        `Bearer ${clerk.access}`,
        named(read),
      ),
    )
  const problem = (code: string) => ({ code, detail: `It is ${code}.` })
  t.match(await of(answering(429, problem('throttled'), { 'retry-after': '2' })), {
    status: 429,
    code: 'throttled',
    headers: { 'retry-after': '2' },
  })
  t.match(await of(answering(503, problem('too_costly'), { 'retry-after': '1' })), {
    status: 503,
    code: 'too_costly',
    headers: { 'retry-after': '1' },
  })
  for (const status of [500, 502, 504])
    t.match(await of(answering(status, {})), { status: 503, code: 'unavailable' })
  const silent: typeof fetch = (input, init) =>
    String(input).includes('/access/')
      ? new Promise((_, reject) =>
          init?.signal?.addEventListener('abort', () => reject(new Error('aborted'))),
        )
      : fetch(input, init)
  t.match(await of(silent), { status: 503, code: 'unavailable' })
  t.match(await of(answering(400, problem('validation_error'))), { status: 403, code: 'permission_denied' })
})

t.test('the states of tenants and members are 403 with their code', async (t) => {
  const firm = await foundFirm(service)
  const member = await firm.hire('member')
  const outcome = () => refused(guard(`Bearer ${member.access}`, named(read)))
  const place = `${firm.path}/members/${member.memberId}/`
  await expect(200, firm.owner.put(place, { status: 'suspended' }))
  t.match(await outcome(), { status: 403, code: 'no_active_membership', decision_id: String })
  await expect(200, firm.owner.put(place, { status: 'active' }))
  await expect(200, firm.owner.post(`${firm.path}/suspend/`))
  t.match(await outcome(), { status: 403, code: 'tenant_suspended' })
  await expect(200, firm.owner.post(`${firm.path}/archive/`))
  t.match(await outcome(), { status: 403, code: 'tenant_archived' })
})

t.test('a token that is only over its time is told apart', async (t) => {
  const expired = await service.deps.signer.sign('access', {
    ...(decodeJwt(clerk.access) as unknown as Parameters<typeof service.deps.signer.sign<'access'>>[1]),
    exp: Math.floor(Date.now() / 1000) - 60,
  })
  const refusal = await refused(guard(`Bearer ${expired}`))
  t.match(refusal, { status: 401, code: 'not_authenticated' })
  t.match(bodyOf(refusal), { reason: 'expired', detail: 'The access token has expired.' })
  t.match(
    refusal.headers['www-authenticate'],
    /error="invalid_token", error_description="The access token has expired\."/,
  )
  t.notOk('reason' in bodyOf(await refused(guard('Bearer x'))))
})

t.test('a pair in a session gives a token that is valid for a while, with one refresh for all', async (t) => {
  const person = await service.signUp()
  const saved: unknown[] = []
  const credentials = keepFresh({ access: 'expired', refresh: person.refresh }, (pair) => saved.push(pair))
  await t.rejects(credentials.fresh(), /Make a client/)
  createClient({ url, credentials })
  const tokens = await Promise.all(Array.from({ length: 8 }, () => credentials.fresh()))
  t.equal(new Set(tokens).size, 1)
  t.equal(tokens[0], credentials.pair.access)
  t.strictSame(saved, [credentials.pair])
  t.match(decodeJwt(tokens[0]!), { sub: person.id })
  t.equal(await credentials.fresh(), tokens[0], 'it is valid for 30 s more')
  t.not(await credentials.fresh(3_600), tokens[0], 'but not for an hour')
  const ended = keepFresh({ access: 'expired', refresh: 'none' })
  createClient({ url, credentials: ended })
  await t.rejects(ended.fresh(), { code: 'token_not_valid' })
})
