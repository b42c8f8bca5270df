import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import type { IdentityKey } from '../../identity/federated/store.ts'
import { directorySubjects } from './store.ts'

const linkingRow = z.object({
  id: z.uuid(),
  name: z.string(),
  issuer: z.string(),
  subject_attribute: z.string(),
  directory_subject: z.enum(directorySubjects),
})

/** An active connection of which the directory knows the subjects. */
export type Linking = z.infer<typeof linkingRow>

/** The active connections of a tenant that say which name of a directory is their subject. As the system role. */
export const listLinking = (read: Read, tenantId: string): Promise<readonly Linking[]> =>
  read.any(sql.type(linkingRow)`
    select id, name, coalesce(config ->> 'entity_id', config ->> 'issuer') as issuer, subject_attribute, directory_subject
    from connections
    where tenant_id = ${tenantId} and status = 'active' and directory_subject is not null order by created_at, id limit 20`)

const removedRow = z.object({ id: z.uuid(), user_id: z.uuid() })

/**
 * Unlinks an identity, whose subject the directory gave to a person, from all others; or from this person. Null if it was not linked so.
 * As the system role.
 */
export function takeIdentity(
  tx: Tx,
  { provider, issuer, attribute, subject }: IdentityKey,
  from: { userId: string } | { allBut: string },
): Promise<z.infer<typeof removedRow> | null> {
  const whose =
    'userId' in from ? sql.fragment`user_id = ${from.userId}` : sql.fragment`user_id <> ${from.allBut}`
  return tx.maybeOne(sql.type(removedRow)`
    delete from federated_identities
    where provider = ${provider} and issuer = ${issuer} and attribute = ${attribute} and subject = ${subject} and ${whose}
    returning id, user_id`)
}
