import type { Tx } from '../../database/executor/transaction.ts'
import type { Caller } from '../../request/caller.ts'
import { assertUndenied, checkedGifts } from '../../tenancy/members/check-gifts.ts'
import { listRolesById } from '../../tenancy/roles/store.ts'
import type { NewRule } from './connection-schemas.ts'
import type { ConnectionRow, MappingRule } from './store.ts'

/** The rules of a mapping with the ids of their roles. Throws what `checkedGifts` throws. */
export async function checkedMapping(
  tx: Tx,
  caller: Caller,
  rules: readonly NewRule[],
): Promise<MappingRule[]> {
  const roles = await checkedGifts(tx, caller, rules, {
    field: (at, name) => `mapping.${at}.${name}`,
    actions: ['member:create', 'member:update'],
  })
  return rules.map((rule, i) => ({ ...rule, roles: roles[i]! }))
}

/** Throws 403 where a policy denies the editor the members whom `jit` brings, with what the mapping gives them. */
export async function assertMayBring(
  tx: Tx,
  caller: Caller,
  { jit, mapping }: Pick<ConnectionRow, 'jit' | 'mapping'>,
): Promise<void> {
  if (jit === 'off') return
  const ids = mapping.flatMap(({ roles }) => roles)
  const given = ids.length === 0 ? [] : await listRolesById(tx, caller.tenantId, ids)
  assertUndenied(caller, ['member:create'], [...new Set(['member', ...given.map(({ name }) => name)])])
}
