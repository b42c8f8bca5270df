import { type Action, actions } from '../../src/policy-engine/catalogue/actions.ts'
import type { Route } from '../../src/request/route.ts'
import type { Answer, Service } from '../helpers/service.ts'
import { expect, type Firm } from '../tenancy/staff.ts'
import { type Attack, type Tally, unauthorized } from './attack.ts'
import { furnish } from './furnish.ts'
import { rolesThatMayAsk } from './role-table.ts'
import { addressOf, decidedRoutes, nameOf, ownIds, visit } from './route-addresses.ts'

export const roleMatrix: Attack = {
  name: 'roles',
  about: 'every route without a caller, with each role, and by people whose membership or session ended',
  async run(stage, tally) {
    const service = await stage.shared()
    const firm = await furnish(service)
    const routes = decidedRoutes(service)
    await asNobody(tally, service, routes)
    await withEachRole(tally, service, firm, routes)
    await withoutMembership(tally, service, firm, routes)
    await fromAnotherTenant(tally, service, firm, routes)
    await afterTheSession(tally, service, firm, routes)
    await whileSuspended(tally, service, routes)
  },
}

async function asNobody(tally: Tally, service: Service, routes: readonly Route[]) {
  for (const route of routes)
    await tally.refuse(
      `nobody: ${nameOf(route)}`,
      () => visit(service, route, undefined),
      unauthorized('not_authenticated'),
    )
}

const isDenied = ({ status, body }: Answer) =>
  status === 403 &&
  body.code === 'permission_denied' &&
  body.decision_id !== undefined &&
  body.reasons?.length > 0

async function withEachRole(
  tally: Tally,
  service: Service,
  { hire, id, role }: Firm,
  routes: readonly Route[],
) {
  let unlisted = 0
  const none = await role('document:read')
  for (const name of ['admin', 'member', 'auditor', none]) {
    const person = await hire(name)
    for (const route of routes) {
      if (rolesThatMayAsk(route.action) === undefined) unlisted++
      if (mayAsk(route.action as keyof typeof actions, name === none ? 'none' : name)) continue
      // Half a body: who may not ask is refused before it is read.
      const send = () =>
        service.call(route.method, addressOf(route, ...ownIds(route, { tenantId: id })), {
          token: person.access,
          ...(route.method !== 'GET' && { body: '{"half' }),
        })
      await tally.refuse(`${name}: ${nameOf(route)}`, send, isDenied)
    }
  }
  if (unlisted > 0)
    tally.figures.push(`${unlisted / 4} routes have an action that role-table.ts does not list`)
}

function mayAsk(action: keyof typeof actions, role: string): boolean {
  const { roles, own, self, open }: Action = actions[action]
  if (role === 'none') return self || open
  const listed = rolesThatMayAsk(action)
  return listed ? listed.includes(role) : self || open || ([...roles, ...own] as string[]).includes(role)
}

/** Routes that need no tenant work for people without a membership, too. */
const needsTenant = ({ action }: Route) => actions[action as keyof typeof actions].needsTenant

async function withoutMembership(
  tally: Tally,
  service: Service,
  { owner, path, hire, id }: Firm,
  routes: readonly Route[],
) {
  const removed = await hire('admin')
  await expect(204, owner.delete(`${path}/members/${removed.memberId}/`))
  const suspended = await hire('admin')
  await expect(200, owner.put(`${path}/members/${suspended.memberId}/`, { status: 'suspended' }))
  for (const [name, person] of Object.entries({ removed, suspended }))
    for (const route of routes.filter(needsTenant))
      await tally.refuse(
        `${name}: ${nameOf(route)}`,
        () => visit(service, route, person.access, ...ownIds(route, { tenantId: id })),
        ({ status, body }) =>
          [403, 404].includes(status) && ['no_active_membership', 'not_found'].includes(body.code),
      )
}

async function fromAnotherTenant(
  tally: Tally,
  service: Service,
  { owner, id }: Firm,
  routes: readonly Route[],
) {
  const eve = await service.signUp()
  const inPath = routes.filter(({ scope }) => scope !== 'token')
  for (const route of inPath) {
    const what = `stranger: ${nameOf(route)}`
    await tally.refuse(
      what,
      () => visit(service, route, eve.access, id),
      ({ status, body }) => status === 404 && body.code === 'not_found',
    )
  }
  const { id: second } = await expect(201, owner.post('/api/v1/tenants/', { name: 'Second' }))
  for (const route of inPath.filter(({ scope }) => scope === 'inside'))
    await tally.refuse(
      `member with a token of another tenant: ${nameOf(route)}`,
      () => visit(service, route, owner.access, second),
      ({ status, body }) => status === 403 && body.code === 'tenant_mismatch',
    )
}

async function afterTheSession(tally: Tally, service: Service, { owner }: Firm, routes: readonly Route[]) {
  const gone = await service.logIn(owner)
  await gone.post('/api/v1/auth/logout/')
  for (const route of routes)
    await tally.refuse(
      `ended session: ${nameOf(route)}`,
      () => visit(service, route, gone.access, ...ownIds(route, gone)),
      unauthorized('session_revoked'),
    )
}

async function whileSuspended(tally: Tally, service: Service, routes: readonly Route[]) {
  const owner = await service.signUp()
  for (const state of ['suspend', 'archive'] as const) {
    await expect(200, owner.post(`/api/v1/tenants/${owner.tenantId}/${state}/`))
    const code = state === 'suspend' ? 'tenant_suspended' : 'tenant_archived'
    const closed = routes
      .filter(needsTenant)
      .filter(({ action }) => !actions[action as keyof typeof actions].whenInactive)
    for (const route of closed)
      await tally.refuse(
        `${state}ed tenant: ${nameOf(route)}`,
        () => visit(service, route, owner.access, ...ownIds(route, owner)),
        ({ status, body }) => status === 403 && body.code === code,
      )
  }
}
