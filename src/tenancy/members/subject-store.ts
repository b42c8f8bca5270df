import type { FragmentSqlToken } from 'slonik'
import { sql } from '../../platform/db/transaction.ts'

/** The condition that a membership `m` is that of a person, by the id of the user, or of a service account, by its id. */
export const isOfSubject = (id: string): FragmentSqlToken =>
  sql.fragment`(m.user_id = ${id} or (m.id = ${id} and m.kind = 'service_account'))`
