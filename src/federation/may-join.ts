import { randomUUIDv7 } from 'node:crypto'
import type { Deps } from '../deps.ts'
import type { RequestInfo } from '../http/request-info.ts'
import type { SystemRole } from '../policy-engine/catalogue/actions.ts'
import type { DecisionQuery } from '../policy-engine/evaluate/query.ts'
import type { Connection } from '../request/caller.ts'
import { isDeniedByPolicy } from '../request/decide.ts'
import type { RoleRow } from '../tenancy/roles/store.ts'
import type { Joining } from './connections/joining-store.ts'

interface Joiner {
  connection: Connection
  joining: Joining
  /** The id of the account, or another one if there is none yet. */
  userId: string
  email: string
  roles: readonly RoleRow[]
  departmentId: string | null
  requestInfo: RequestInfo
}

/**
 * Whether a policy, or a rule of the installation, denies that a person becomes a member of a connection's tenant, or is invited. The
 * person is the subject, as the member who they would be. No one is there who could approve: gates were asked of the editor of the
 * connection. A denial is logged.
 */
export async function isDeniedToJoin(
  deps: Deps,
  action: 'member:create' | 'invitation:create',
  { connection, joining, userId, email, roles, departmentId, requestInfo }: Joiner,
): Promise<boolean> {
  const { tenantId } = connection
  const now = deps.clock()
  const policies = await deps.policyCache.load({ tenantId, userId }, joining.policy_revision)
  const type = action === 'member:create' ? 'member' : 'invitation'
  const names = roles.map(({ name }) => name)
  const id = randomUUIDv7()
  const query: DecisionQuery = {
    action,
    phase: 'resource',
    resource: {
      type,
      id: null,
      tenantId,
      ownerId: null,
      fields: { email, roles: names, department_id: departmentId },
    },
    now,
    slice: policies.slice(type, action, now),
    requestId: requestInfo.requestId,
    subject: {
      type: 'user',
      id: userId,
      email,
      emailVerified: true,
      tenantId,
      membership: {
        id,
        status: 'active',
        systemRoles: roles.filter((role) => role.is_system).map(({ name }) => name as SystemRole),
        roleIds: roles.map((role) => role.id),
        roles: names,
        permissions: roles.flatMap(({ permissions }) => permissions),
        departmentId,
        joinedAt: now,
      },
      session: { id, acr: 'aal1', amr: ['fed'], authTime: now, token: 'access' },
    },
    tenant: {
      id: tenantId,
      status: joining.tenant_status,
      requireMfa: joining.require_mfa,
      ...(joining.time_zone && { timeZone: joining.time_zone }),
    },
    environment: { ip: requestInfo.ip, userAgent: requestInfo.userAgent },
  }
  const decision = deps.access.decide(query)
  const isDenied = isDeniedByPolicy(decision)
  if (isDenied) await deps.decisionLog.record({ id, query, decision, kind: 'request', keep: 'always' })
  return isDenied
}
