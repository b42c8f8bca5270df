import type { Answer, Client, Service } from '../helpers/service.ts'
import { codeAt, enrol } from '../identity/otp/authenticator.ts'
import { expect, type Firm, foundFirm, type Staff } from '../tenancy/staff.ts'
import { type Attack, type Tally, unauthorized } from './attack.ts'
import { takesSession } from './keys.ts'
import { rolesThatMayAsk } from './role-table.ts'
import { addressOf, decidedRoutes, nameOf, ownIds, visit } from './route-addresses.ts'

export const impersonations: Attack = {
  name: 'impersonation',
  about: 'the token of a member who acts as another one: at every route, beyond both of them, after its end',
  async run(stage, tally) {
    const service = await stage.shared()
    const scene = await prepare(tally, service)
    await atEveryRoute(tally, service, scene)
    await beyondTheMembers(tally, scene)
    await beyondTheActor(tally, service, scene)
    await elsewhere(tally, service, scene)
    await afterItsEnd(tally, service, scene)
    await endedEarly(tally, service)
  },
}

interface Scene {
  firm: Firm
  /** May act as others, and manages departments. */
  supporter: Staff
  member: Staff
  auditor: Staff
}

const reason = 'Ticket 4711: a list is empty'
/** Asks to act as a member of the firm. */
export const beginImpersonation = (firm: Firm, actor: Client, { memberId }: { memberId: string }) =>
  actor.post(`${firm.path}/members/${memberId}/impersonate/`, { reason })

/** Enrols an authenticator app and shows a code, so that the session has a fresh second factor. */
export async function showFactor(service: Service, person: Client): Promise<void> {
  const { secret } = await enrol(service, person)
  await expect(200, person.post('/api/v1/auth/otp/verify/', { code: codeAt(secret, service.now(), 1) }))
}

async function prepare(tally: Tally, service: Service): Promise<Scene> {
  const firm = await foundFirm(service)
  const role = await firm.role('member:impersonate', 'department:create')
  const [supporter, member, auditor] = [
    await firm.hire('member', role),
    await firm.hire('member'),
    await firm.hire('auditor'),
  ]
  await tally.refuse('without a second factor', () => beginImpersonation(firm, supporter, member), [401])
  await showFactor(service, supporter)
  return { firm, supporter, member, auditor }
}

const isClosed = ({ status, body }: Answer) => status === 403 && body.code === 'impersonation_not_allowed'
const isRefused = ({ status }: Answer) => status === 403

/** What only a session may do is closed; what the member may not is refused, before the body is read. */
async function atEveryRoute(tally: Tally, service: Service, { firm, supporter, member }: Scene) {
  const { access } = await expect(200, beginImpersonation(firm, supporter, member))
  const use = () => service.call('GET', '/api/v1/users/me/', { token: access })
  tally.check((await use()).body.id === member.id, 'the token acts as the member')
  for (const route of decidedRoutes(service)) {
    const ids = ownIds(route, { tenantId: firm.id })
    const what = `an impersonation: ${nameOf(route)}`
    if (takesSession(route)) await tally.refuse(what, () => visit(service, route, access, ...ids), isClosed)
    else if (!(rolesThatMayAsk(route.action)?.includes('member') ?? true))
      await tally.refuse(
        what,
        () =>
          service.call(route.method, addressOf(route, ...ids), {
            token: access,
            ...(route.method !== 'GET' && { body: '{"half' }),
          }),
        isRefused,
      )
  }
}

async function beyondTheMembers(tally: Tally, { firm, supporter, member, auditor }: Scene) {
  const { body } = await firm.owner.get(`${firm.path}/members/?user_id=${firm.owner.id}`)
  const owner = { memberId: body.results[0].id }
  await tally.refuse(
    'a supporter acts as the owner',
    () => beginImpersonation(firm, supporter, owner),
    isClosed,
  )
  await tally.refuse(
    'a supporter acts as an auditor',
    () => beginImpersonation(firm, supporter, auditor),
    isClosed,
  )
  await tally.refuse(
    'a supporter acts as themselves',
    () => beginImpersonation(firm, supporter, supporter),
    isClosed,
  )
  await tally.refuse(
    'a member acts as another one',
    () => beginImpersonation(firm, member, supporter),
    isRefused,
  )
  const admin = await firm.hire('admin')
  await tally.refuse('an admin acts as a member', () => beginImpersonation(firm, admin, member), isRefused)
}

/** Each request is decided about both: a denial of the actor holds, and so does one of the member. */
async function beyondTheActor(tally: Tally, service: Service, { firm, supporter, member }: Scene) {
  const { access } = await expect(200, beginImpersonation(firm, supporter, member))
  const makes = () =>
    service.call('POST', `${firm.path}/departments/`, { token: access, body: { name: 'Sales' } })
  await tally.refuse('what the actor may and the member may not', makes, isRefused)
  const ask = () => service.call('GET', `${firm.path}/roles/`, { token: access })
  tally.check((await ask()).status === 200, 'what both may do is done')
  const policy = await expect(
    201,
    firm.owner.post('/api/v1/policies/', {
      name: 'No roles for the supporter',
      effect: 'deny',
      actions: ['role:list'],
      conditions: { all: [{ attribute: 'subject.id', operator: 'eq', value: supporter.id }] },
    }),
  )
  await tally.refuse('what a policy denies to the actor', ask, isRefused)
  await expect(204, firm.owner.delete(`/api/v1/policies/${policy.id}/`))
}

async function elsewhere(tally: Tally, service: Service, { firm, supporter, member }: Scene) {
  const { access } = await expect(200, beginImpersonation(firm, supporter, member))
  const own = (await service.logIn(member)).tenantId
  for (const id of [own, (await service.signUp()).tenantId])
    await tally.refuse(
      'an impersonation in another tenant',
      () => service.call('GET', `/api/v1/tenants/${id}/`, { token: access }),
      [404],
    )
  const { body } = await service.call('GET', '/api/v1/tenants/', { token: access })
  const listed = (body.results ?? []).map(({ id }: { id: string }) => id)
  tally.check(
    listed.every((id: string) => id === firm.id),
    `an impersonation lists tenants: ${listed}`,
  )
}

async function afterItsEnd(tally: Tally, service: Service, { firm, supporter, member }: Scene) {
  const use = (token: string) => () => service.call('GET', '/api/v1/users/me/', { token })
  const late = await expect(200, beginImpersonation(firm, supporter, member))
  service.advance(905_001)
  await tally.refuse('an impersonation after its time', use(late.access), unauthorized('token_not_valid'))
}

/** The ends of an impersonation before its time. Each takes another actor and another member. */
async function endedEarly(tally: Tally, service: Service) {
  const firm = await foundFirm(service)
  const { owner, path, hire } = firm
  const role = await firm.role('member:impersonate')
  const set = ({ memberId }: Staff, change: object) =>
    expect(200, owner.put(`${path}/members/${memberId}/`, change))
  const ends: Record<string, (actor: Staff, member: Staff) => Promise<unknown>> = {
    'the actor logged out': (actor) => actor.post('/api/v1/auth/logout/'),
    'the actor lost the role': (actor) => set(actor, { roles: ['member'] }),
    'the actor was suspended': (actor) => set(actor, { status: 'suspended' }),
    'the member was suspended': (_, member) => set(member, { status: 'suspended' }),
    'the member became an admin': (_, member) => set(member, { roles: ['admin'] }),
    'the member was removed': (_, member) => expect(204, owner.delete(`${path}/members/${member.memberId}/`)),
  }
  for (const [what, end] of Object.entries(ends)) {
    const [actor, member] = [await hire('member', role), await hire('member')]
    await showFactor(service, actor)
    const { access } = await expect(200, beginImpersonation(firm, actor, member))
    const use = () => service.call('GET', `${path}/members/`, { token: access })
    tally.check((await use()).status === 200, `an impersonation works before ${what}`)
    await end(actor, member)
    await tally.refuse(`an impersonation after ${what}`, use, [401, 403])
  }
}
