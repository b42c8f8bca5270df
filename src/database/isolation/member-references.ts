import type { FragmentSqlToken } from 'slonik'
import { sql, type Tx } from '../executor/transaction.ts'

/**
 * Columns that name a member of the tenant by user id and become null when the membership ends. A foreign key with `on
 * delete set null` would do the same, but a distributed table cannot have one.
 */
const references = [
  ['memberships', 'manager_id'],
  ['registered_resources', 'owner_id'],
] as const

/**
 * Makes a person the manager and the owner of nothing in a tenant, and forgets what a directory said of them, before their
 * membership ends. The membership has to be locked against transactions that name it.
 */
export function forgetMember(tx: Tx, tenantId: string, userId: FragmentSqlToken): void {
  for (const [table, column] of references) {
    const [name, reference] = [sql.identifier([table]), sql.identifier([column])]
    tx.later(sql.unsafe`
      update ${name} set ${reference} = null where tenant_id = ${tenantId} and ${reference} = ${userId}`)
  }
  const ids = sql.fragment`(select id from memberships where tenant_id = ${tenantId} and user_id = ${userId})`
  tx.later(
    sql.unsafe`delete from directory_group_members where tenant_id = ${tenantId} and member_id in ${ids}`,
  )
  tx.later(sql.unsafe`delete from directory_users where tenant_id = ${tenantId} and id in ${ids}`)
}

/**
 * Ends what applications of a tenant may do for a person: their grants, codes, tokens and consents, and the sessions of
 * grants. It is done with the commit, in the scope of that person.
 */
export function endGrants(tx: Tx, { tenantId, userId }: { tenantId: string; userId: string }): void {
  tx.atCommit(() => {
    tx.addScope('user', userId)
    tx.later(sql.unsafe`delete from oauth_models where tenant_id = ${tenantId} and user_id = ${userId}`)
  })
  endGrantSessions(tx, { tenantId, userId })
}

/** The same with the consents kept, after the grants have ended: deletes the sessions of grants. */
export function endGrantSessions(tx: Tx, { tenantId, userId }: { tenantId: string; userId: string }): void {
  tx.atCommit(() => {
    tx.addScope('user', userId)
    tx.later(sql.unsafe`
      delete from sessions where tenant_id = ${tenantId} and user_id = ${userId} and kind = 'grant'`)
  })
}
