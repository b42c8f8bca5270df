import type { Tx } from '../database/executor/transaction.ts'
import type { RequestInfo } from '../http/request-info.ts'
import { appendAudit, changesBetween } from '../messages/audit/append-audit.ts'
import { appendEvent } from '../messages/outbox/append-event.ts'
import type { Connection } from '../request/caller.ts'
import { lockDepartmentsShared } from '../tenancy/departments/store.ts'
import { lockRolesById } from '../tenancy/invitations/store.ts'
import { auditedMember } from '../tenancy/members/member-schemas.ts'
import { changeRolesOf } from '../tenancy/members/roles-store.ts'
import { changeMember, findMember, lockMember } from '../tenancy/members/store.ts'
import { firstExcess } from '../tenancy/roles/grantable-roles.ts'
import type { RoleRow } from '../tenancy/roles/store.ts'
import type { Giving } from './connections/joining-store.ts'
import type { MappingRule } from './connections/store.ts'
import type { Said } from './settle.ts'

/** What a mapping gives a person by what their provider said. */
export interface Given {
  roles: readonly RoleRow[]
  departmentId: string | null
}

/**
 * What the rules that fit give together: roles, and the first department. Never the role of an owner, and no role with more than the
 * activator of the connection held.
 */
export async function givenBy(
  { mapping, activator }: Giving,
  { claims }: Said,
  rolesById: (ids: readonly string[]) => Promise<readonly RoleRow[]>,
): Promise<Given> {
  const rules = mapping.filter((rule) => fits(rule, claims))
  const ids = [...new Set(rules.flatMap((rule) => rule.roles))]
  const roles = ids.length === 0 ? [] : await rolesById(ids)
  const departmentId = rules.find((rule) => rule.department_id !== null)?.department_id ?? null
  return { roles: roles.filter((role) => !isOwner(role) && !firstExcess(activator, [role])), departmentId }
}

/** Whether a claim is the value of a rule, or a list that has it. */
function fits({ claim, value }: MappingRule, claims: Said['claims']): boolean {
  const said = Object.hasOwn(claims, claim) ? [claims[claim]].flat() : []
  return said.some((one) => ['string', 'number', 'boolean'].includes(typeof one) && String(one) === value)
}

const isOwner = ({ is_system, name }: RoleRow) => is_system && name === 'owner'

interface Applied {
  connection: Connection
  giving: Giving
  memberId: string
  userId: string
  said: Said
  requestInfo: RequestInfo
  at: number
}

/**
 * Gives a member what the mapping of a connection gives by now, and takes back what it gave before. What other sources gave stays, and so
 * does a department where no rule that fits has one. The connection is held (`holdGiving`).
 */
export async function applyMapping(
  tx: Tx,
  { connection, giving, memberId, userId, said, requestInfo, at }: Applied,
): Promise<void> {
  const { tenantId, id: connectionId } = connection
  lockMember(tx, tenantId, memberId)
  const [before, given] = await Promise.all([
    findMember(tx, tenantId, memberId),
    givenBy(giving, said, (ids) => lockRolesById(tx, tenantId, ids)),
  ])
  if (!before) return // the person left meanwhile
  const roleIds = given.roles.map(({ id }) => id)
  const [isChanged, departments] = await Promise.all([
    changeRolesOf(tx, { tenantId, memberId, roleIds, source: 'connection', connectionId }),
    lockDepartmentsShared(tx, tenantId, given.departmentId === null ? [] : [given.departmentId]),
  ])
  const [departmentId = before.department_id] = departments
  if (!isChanged && departmentId === before.department_id) return
  const { status, attributes, manager_id: managerId } = before
  changeMember(tx, { tenantId, id: memberId, status, attributes, departmentId, managerId, at })
  const after = (await findMember(tx, tenantId, memberId))!
  await appendEvent(tx, {
    type: 'tenant.member_updated',
    tenantId,
    subject: memberId,
    data: { membership_id: memberId, user_id: userId },
    actorId: null,
    requestId: requestInfo.requestId,
    at,
  })
  await appendAudit(tx, {
    tenantId,
    actor: null,
    requestInfo,
    action: 'member:update',
    target: { type: 'member', id: memberId },
    changes: {
      ...changesBetween(auditedMember(before), auditedMember(after)),
      connection: { before: null, after: connectionId },
    },
    at,
  })
}
