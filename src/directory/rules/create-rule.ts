import type { Tx } from '../../database/executor/transaction.ts'
import { lockTenant } from '../../database/revisions.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, invalidField } from '../../errors.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Caller } from '../../request/caller.ts'
import { checkedGifts } from '../../tenancy/members/check-gifts.ts'
import { holderOf } from '../../tenancy/roles/grantable-roles.ts'
import { giveAndRecord, rolesToChange } from './apply-rules.ts'
import { auditedRule, type NewRule } from './rule-schemas.ts'
import { countRules, findGroupName, insertRule, type RuleRow } from './store.ts'

const maxRules = 500

/** Makes a rule, which members of its group feel at their next request. 400, 403 as `checkedGifts` and for members above the caller, 409 `limit_reached`. */
export async function createRule(tx: Tx, { clock }: Deps, caller: Caller, body: NewRule): Promise<RuleRow> {
  const { tenantId } = caller
  const { group: groupId, department_id: departmentId } = body
  const at = clock()
  const id = timeOrderedId(at)
  await lockTenant(tx, tenantId)
  const [groupName, count, held] = await Promise.all([
    findGroupName(tx, { tenantId, id: groupId }),
    countRules(tx, tenantId),
    rolesToChange(tx, caller, groupId),
  ])
  if (groupName === null) throw invalidField('group', 'The directory sent no group with this id.', 'unknown')
  if (count >= maxRules)
    throw new ApiError(409, 'limit_reached', `A tenant can have at most ${maxRules} rules.`)
  const [roleIds = []] = await checkedGifts(tx, caller, [body], {
    field: (_at, name) => name,
    actions: ['member:update'],
    held,
  })
  insertRule(tx, { tenantId, id, groupId, roleIds, departmentId, editor: holderOf(caller), at })
  const rule = {
    id,
    group_id: groupId,
    group_name: groupName,
    roles: roleIds.toSorted(),
    department_id: departmentId,
    created_at: at,
  }
  const changed = await giveAndRecord(tx, caller, { group: groupId }, at)
  await recordChange(tx, caller, at, {
    event: 'directory.rule_created',
    data: { directory_rule_id: id, directory_group_id: groupId },
    action: 'directory:update',
    target: { type: 'directory', id },
    changes: { ...changesBetween(null, auditedRule(rule)), ...changed },
  })
  return rule
}
