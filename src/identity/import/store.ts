import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { isProven } from '../../database/proven-address.ts'

const importedRow = z.object({ key: z.string(), user_id: z.uuid(), memberships: z.number() })

/** A row of the file that was imported before, with how many of its memberships were written. */
export type Imported = z.infer<typeof importedRow>

/** The rows of these keys that an import with this name wrote. As the system role. */
export function listImported(
  read: Read,
  source: string,
  keys: readonly string[],
): Promise<readonly Imported[]> {
  return read.any(sql.type(importedRow)`
    select key, user_id, memberships from imported_people
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
}

/** Records that so many memberships of a row are written. In the scope of the person. */
export function recordImported(
  tx: Tx,
  { source, key, userId, memberships, at }: Key & { memberships: number; at: number },
): void {
  tx.later(sql.unsafe`
    insert into imported_people (source, key, user_id, memberships, imported_at)
    values (${source}, ${key}, ${userId}, ${memberships}, ${instant(at)})
    on conflict (source, key) do update set memberships = ${memberships}`)
}
