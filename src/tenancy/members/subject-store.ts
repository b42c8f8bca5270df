import type { FragmentSqlToken } from 'slonik'
import { isUuid } from '../../crypto/uuid.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'

/** The condition that a membership `m` is that of a person, by the id of the user, or of a service account, by its id. */
export const isOfSubject = (id: string): FragmentSqlToken =>
  sql.fragment`(m.user_id = ${id} or (m.id = ${id} and m.kind = 'service_account'))`

/**
 * A name of a person as it is compared: with ids and addresses in lower case, with an `external_id` exactly. Spaces around it
 * do not count.
 */
export function nameForms(name: string): { exact: string; folded: string } {
  const exact = name.trim()
  return { exact, folded: exact.toLowerCase() }
}

/**
 * The condition that a membership `m` has one of these names: that of a person: it is their id, the address that they proved, or
 * the `external_id` of the membership. A name can fit two members.
 */
export function isPersonNamed(names: readonly string[]): FragmentSqlToken {
  const forms = names.map(nameForms)
  const exact = [...new Set(forms.map((form) => form.exact))]
  const folded = [...new Set(forms.map((form) => form.folded))]
  return sql.fragment`
    (m.user_id = any(${sql.array(folded.filter(isUuid), 'uuid')})
     or (m.email = any(${sql.array(folded, 'text')}) and m.email_verified)
     or (m.external_id = any(${sql.array(exact, 'text')}) and m.external_id is not null))`
}

interface NamedMember {
  tenantId: string
  memberId: string
  externalId: string | null
}

/** Whether a name is that of another member than this one, which can be the id of a membership that is not there yet. */
export function isNameOfAnother(tx: Tx, tenantId: string, memberId: string, name: string): Promise<boolean> {
  return tx.exists(sql.unsafe`
    select 1 from memberships m
    where m.tenant_id = ${tenantId} and m.id <> ${memberId} and ${isPersonNamed([name])}`)
}

/** Sets the `external_id` of a member; the transaction fails with `ifTaken` if another member has it by then. */
export function setExternalId(
  tx: Tx,
  { tenantId, memberId, externalId }: NamedMember,
  ifTaken: () => Error,
): void {
  tx.later(
    sql.unsafe`
      update memberships set external_id = ${externalId} where tenant_id = ${tenantId} and id = ${memberId}`,
    ifTaken,
  )
}
