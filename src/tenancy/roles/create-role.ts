import type { z } from 'zod'
import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant, revise } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { assertHolds, holderOf } from './grantable-roles.ts'
import { auditedRole, type newRole } from './role-schemas.ts'
import { countCustomRoles, insertRole, type RoleDetailRow } from './store.ts'

/** Creates a custom role. 403 for a permission that the caller lacks, 409 `limit_reached` or `name_taken`. */
export async function createRole(
  tx: Tx,
  { clock, config }: Deps,
  caller: Caller,
  body: z.output<typeof newRole>,
): Promise<RoleDetailRow> {
  const { tenantId } = caller
  const at = clock()
  const id = timeOrderedId(at)
  assertHolds(holderOf(caller), body.permissions)
  await lockTenant(tx, tenantId)
  if ((await countCustomRoles(tx, tenantId)) >= config.LIMIT_CUSTOM_ROLES)
    throw new ApiError(
      409,
      'limit_reached',
      `A tenant can have at most ${config.LIMIT_CUSTOM_ROLES} custom roles.`,
    )
  const role = insertRole(tx, { ...body, tenantId, id, at })
  revise(tx, tenantId)
  await recordChange(tx, caller, at, {
    event: 'tenant.role_created',
    data: { role_id: id },
    action: 'role:create',
    target: { type: 'role', id },
    changes: changesBetween(null, auditedRole(role)),
  })
  return role
}
