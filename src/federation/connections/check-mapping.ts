import type { Tx } from '../../database/executor/transaction.ts'
import type { Caller } from '../../request/caller.ts'
import { checkedGifts } from '../../tenancy/members/check-gifts.ts'
import type { NewRule } from './connection-schemas.ts'
import type { MappingRule } from './store.ts'

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
