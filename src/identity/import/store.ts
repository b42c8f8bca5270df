import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { isProven } from '../../database/proven-address.ts'

const importedRow = z.object({
  key: z.string(),
  user_id: z.uuid(),
  memberships: z.number(),
  email_digest: z.instanceof(Buffer).nullable(),
})

const hashOf = (email: string): Buffer => hash('sha256', email, 'buffer')

/** Whether a row that was imported before is of the person with this address. */
export const isOf = ({ email_digest }: Imported, email: string): boolean =>
  email_digest === null || email_digest.equals(hashOf(email))

/** A row of the file that was imported before, with how many of its memberships were written. */
export type Imported = z.infer<typeof importedRow>

/** The rows of these keys that an import with this name wrote. As the system role. */
export function listImported(
  read: Read,
  source: string,
  keys: readonly string[],
): Promise<readonly Imported[]> {
  return read.any(sql.type(importedRow)`
    select key, user_id, memberships, email_digest from imported_people
    where source = ${source} and key = any(${sql.array([...keys], 'text')})`)
}

const accountRow = z.object({
  id: z.uuid(),
  email: z.string(),
  firstName: z.string(),
  lastName: z.string(),
  isProven: z.boolean(),
})

export type Account = z.infer<typeof accountRow>

/** The accounts of these addresses. As the system role. */
export function listAccounts(read: Read, emails: readonly string[]): Promise<readonly Account[]> {
  return read.any(sql.type(accountRow)`
    select u.id, u.email, u.first_name as "firstName", u.last_name as "lastName", ${isProven} as "isProven"
    from users u where u.email = any(${sql.array([...emails], 'text')})`)
}

interface Key {
  source: string
  key: string
  userId: string
  /** The address in the file. */
  email: string
}

/** Records that so many memberships of a row are written. In the scope of the person. */
export function recordImported(
  tx: Tx,
  { source, key, userId, email, memberships, at }: Key & { memberships: number; at: number },
): void {
  tx.later(sql.unsafe`
    insert into imported_people (source, key, user_id, email_digest, memberships, imported_at)
    values (${source}, ${key}, ${userId}, ${sql.binary(hashOf(email))}, ${memberships}, ${instant(at)})
    on conflict (source, key) do update set memberships = ${memberships}`)
}
