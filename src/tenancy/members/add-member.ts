import type { Deps } from '../../deps.ts'
import { permissionsOf, type SystemRole } from '../../platform/access/actions.ts'
import { asSystem, inTenant } from '../../platform/db/transaction.ts'
import { ApiError, invalidField } from '../../platform/errors.ts'
import type { Actor } from '../../platform/http/actor.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { listRolesNamed, type RoleRow } from '../roles/store.ts'
import { findTenant } from '../tenants/store.ts'
import { findMember, findPerson, insertMember, type MemberRow } from './store.ts'

export interface NewMemberBody {
  user_id: string
  roles: string[]
}

/**
 * Adds a person, known by id, to the caller's tenant and tells them by mail. 400 for an unknown person or role, 403
 * for a role that permits what the caller lacks, 409 `already_member`.
 */
export async function addMember(deps: Deps, actor: Actor, body: NewMemberBody): Promise<MemberRow> {
  const { db, clock, sealer } = deps
  const { tenantId, userId, origin } = actor
  const person = await asSystem(db, 'a person to be added belongs to other tenants as yet', (tx) =>
    findPerson(tx, body.user_id),
  )
  if (!person) throw invalidField('user_id', 'There is nobody with this id.', 'unknown')
  const at = clock()
  return inTenant(db, actor, async (tx) => {
    const roles = await listRolesNamed(tx, tenantId, body.roles)
    assertAllFound(body.roles, roles)
    assertGrantable(actor, roles)
    const id = timeOrderedId(at)
    const roleIds = roles.map((role) => role.id)
    if (!(await insertMember(tx, { id, tenantId, user: person, departmentId: null, roleIds, at })))
      throw new ApiError(409, 'already_member', 'This person is a member already.')
    await appendEvent(tx, {
      type: 'tenant.member_added',
      tenantId,
      subject: id,
      data: { membership_id: id, user_id: person.id },
      actorId: userId,
      requestId: origin.requestId,
      at,
    })
    const tenant = await findTenant(tx, tenantId, userId)
    const variables = { tenantName: tenant?.name ?? '' }
    await sendMail(tx, sealer, {
      tenantId,
      to: person.email,
      template: 'added_to_tenant',
      variables,
      requestId: origin.requestId,
      at,
    })
    const member = await findMember(tx, tenantId, id)
    if (!member) throw new Error('The member just added cannot be seen')
    return member
  })
}

function assertAllFound(asked: readonly string[], found: readonly RoleRow[]) {
  const known = new Set(found.flatMap((role) => [role.id, role.name.normalize('NFC').toLowerCase()]))
  const unknown = asked.find((name) => !known.has(name.normalize('NFC').toLowerCase()))
  if (unknown !== undefined) throw invalidField('roles', `This tenant has no role "${unknown}".`, 'unknown')
}

/** Nobody grants a permission they lack; owners and admins hold every permission of the application's own. */
function assertGrantable({ standing }: Actor, roles: readonly RoleRow[]) {
  const { systemRoles = [], permissions = [] } = standing.membership ?? {}
  const held = new Set<string>([...systemRoles.flatMap(permissionsOf), ...permissions])
  const wanted = roles.flatMap((role) =>
    role.is_system ? permissionsOf(role.name as SystemRole) : role.permissions,
  )
  const owns =
    systemRoles.includes('owner') || roles.every((role) => !(role.is_system && role.name === 'owner'))
  const steward = systemRoles.includes('owner') || systemRoles.includes('admin')
  const lacking = wanted.filter(
    (permission) => !held.has(permission) && !(steward && isApplicationPermission(permission)),
  )
  if (owns && lacking.length === 0) return
  throw new ApiError(
    403,
    'permission_denied',
    'You cannot give a role that permits more than your own roles do.',
  )
}

const serviceResources = new Set(
  (['owner'] as const).flatMap(permissionsOf).map((permission) => permission.split(':')[0]),
)

const isApplicationPermission = (permission: string) => !serviceResources.has(permission.split(':')[0])
