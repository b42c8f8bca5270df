import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { changesBetween } from '../../messages/audit/append-audit.ts'
import { recordChange } from '../../messages/audit/record-change.ts'
import type { Caller } from '../../request/caller.ts'
import { assertGrantable, holderOf, refused } from '../../tenancy/roles/grantable-roles.ts'
import { lockRolesNamed } from '../../tenancy/roles/store.ts'
import { giveAndRecord, rolesToChange } from './apply-rules.ts'
import { auditedRule } from './rule-schemas.ts'
import { deleteRule, type RuleRow } from './store.ts'

/**
 * Deletes a rule: members lose the roles that no other rule gives them. The tenant is locked. 403 for members above the
 * caller, for roles with permissions that the caller lacks, and where a policy denies the caller to change members.
 */
export async function removeRule(tx: Tx, { clock }: Deps, caller: Caller, rule: RuleRow): Promise<void> {
  const { tenantId } = caller
  const { id, group_id: groupId } = rule
  const at = clock()
  const [roles, held] = await Promise.all([
    lockRolesNamed(tx, tenantId, rule.roles),
    rolesToChange(tx, caller, groupId),
  ])
  assertGrantable({ ...holderOf(caller), scopes: null }, roles)
  const names = [...new Set([...roles.map(({ name }) => name), ...held])]
  if (caller.denies('member:update', { type: 'member', fields: { roles: names } }))
    throw refused('You cannot delete rules for members: a policy denies you member:update.')
  deleteRule(tx, { tenantId, id })
  const changed = await giveAndRecord(tx, caller, { group: groupId }, at)
  await recordChange(tx, caller, at, {
    event: 'directory.rule_deleted',
    data: { directory_rule_id: id, directory_group_id: groupId },
    action: 'directory:update',
    target: { type: 'directory', id },
    changes: { ...changesBetween(auditedRule(rule), null), ...changed },
  })
}
