import { z } from 'zod'
import { idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'

/** Whom a provider names: never by the address, and never by the issuer alone. */
export interface IdentityKey {
  /** The id of a provider of the installation, or of a connection. */
  provider: string
  issuer: string
  attribute: string
  subject: string
}

interface NewIdentity extends IdentityKey {
  id: string
  userId: string
  /** The tenant of the connection; null: a provider of the installation. */
  tenantId: string | null
  email: string | null
  /** ms since 1970 */
  at: number
}

const is = ({ provider, issuer, attribute, subject }: IdentityKey) => sql.fragment`
  provider = ${provider} and issuer = ${issuer} and attribute = ${attribute} and subject = ${subject}`

const foundRow = z.object({ id: z.uuid(), user_id: z.uuid() })

/** An identity that is linked. */
export type KnownIdentity = z.infer<typeof foundRow>

/** The identity that a provider names, with its person, or null. As the system role. */
export const findIdentity = (tx: Tx, key: IdentityKey): Promise<KnownIdentity | null> =>
  tx.maybeOne(sql.type(foundRow)`select id, user_id from federated_identities where ${is(key)}`)

/** Whether another subject is linked to the person, of the same provider, issuer and attribute. As the system role. */
export const hasOtherSubject = (
  tx: Tx,
  userId: string,
  { provider, issuer, attribute, subject }: IdentityKey,
): Promise<boolean> =>
  tx
    .maybeOne(sql.type(idRow)`
      select id from federated_identities where user_id = ${userId} and provider = ${provider} and issuer = ${issuer}
        and attribute = ${attribute} and subject <> ${subject} limit 1`)
    .then((found) => found !== null)

/** Links an identity to a person; false if it is linked already. As the system role. */
export async function insertIdentity(tx: Tx, identity: NewIdentity): Promise<boolean> {
  const { id, userId, provider, tenantId, issuer, attribute, subject, email, at } = identity
  const linked = await tx.maybeOne(sql.type(idRow)`
    insert into federated_identities (id, user_id, provider, tenant_id, connection_id, issuer, attribute, subject, email, created_at)
    values (${id}, ${userId}, ${provider}, ${tenantId}, ${tenantId && provider}, ${issuer}, ${attribute}, ${subject},
      ${email}, ${instant(at)})
    on conflict do nothing returning id`)
  return linked !== null
}

/** Notes the address that the provider names now. The account keeps its own. As the system role. */
export function noteAddress(tx: Tx, { id, email }: { id: string; email: string | null }): void {
  tx.later(sql.unsafe`
    update federated_identities set email = ${email} where id = ${id} and email is distinct from ${email}`)
}

const unlinkedRow = z.object({ provider: z.string() })

/** Unlinks an identity of a person; null if it is not theirs. As the system role. */
export const deleteIdentity = (tx: Tx, { id, userId }: IdentityOf): Promise<{ provider: string } | null> =>
  tx.maybeOne(sql.type(unlinkedRow)`
    delete from federated_identities where id = ${id} and user_id = ${userId} returning provider`)

interface IdentityOf {
  id: string
  userId: string
}

/** Whether an identity is the person's; if so, it stays so until the transaction ends. As the system role. */
export async function lockIdentity(tx: Tx, { id, userId }: IdentityOf): Promise<boolean> {
  const held = await tx.maybeOne(sql.type(idRow)`
    select id from federated_identities where id = ${id} and user_id = ${userId} for no key update`)
  return held !== null
}

/** Records a sign-in with a locked identity. As the system role. */
export function recordIdentityUse(tx: Tx, { id, userId, at }: IdentityOf & { at: number }): void {
  tx.later(sql.unsafe`
    update federated_identities set last_used_at = ${instant(at)} where id = ${id} and user_id = ${userId}`)
}

/** Unlinks the identities of a person, or those that were linked since a time (ms since 1970). As the system role. */
export function deleteIdentitiesOf(tx: Tx, userId: string, since: number | null = null): void {
  tx.later(sql.unsafe`
    delete from federated_identities
    where user_id = ${userId} and created_at >= coalesce(${instant(since)}::timestamptz, '-infinity')`)
}
