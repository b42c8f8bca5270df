import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { idRow } from '../../database/executor/row-schemas.ts'
import { listsOfValues } from '../../database/executor/rows.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { lock } from '../../database/locks.ts'
import { isProven } from '../../database/proven-address.ts'
import { overtaken } from '../../errors.ts'

const personRow = z.object({
  id: z.uuid(),
  email: z.string(),
  emailVerified: z.boolean(),
  firstName: z.string(),
  lastName: z.string(),
  isActive: z.boolean(),
  dateJoined: z.number(),
  version: z.number(),
})

/** A person with all that their memberships copy. */
export type Person = z.infer<typeof personRow>

const selectPerson = (tx: Tx, condition: FragmentSqlToken): Promise<Person | null> =>
  tx.maybeOne(sql.type(personRow)`
    select u.id, u.email, ${isProven} as "emailVerified", u.first_name as "firstName", u.last_name as "lastName",
           u.is_active as "isActive", u.date_joined as "dateJoined", u.version
    from users u where ${condition}`)

/** An active person by id, or null. As the system role. */
export const findPerson = (tx: Tx, userId: string): Promise<Person | null> =>
  selectPerson(tx, sql.fragment`u.id = ${userId} and u.is_active`)

/** The person of the scope, who does not change until the transaction ends. 409 `overtaken` if they were erased meanwhile. */
export async function lockPerson(tx: Tx, userId: string): Promise<Person> {
  const person = await selectPerson(tx, sql.fragment`u.id = ${userId} ${lock(tx, userId, 'no key update')}`)
  if (!person) throw overtaken()
  return person
}

/** The id of a person's membership, or null. */
export const findMemberId = (tx: Tx, tenantId: string, userId: string): Promise<string | null> =>
  tx.maybeOneFirst(sql.type(idRow)`
    select id from memberships where tenant_id = ${tenantId} and user_id = ${userId}`)

/** Holds an active membership as it is until the transaction ends; false if it is suspended or over. As the system role. */
export async function holdActiveMember(
  tx: Tx,
  { tenantId, id }: { tenantId: string; id: string },
): Promise<boolean> {
  const held = await tx.maybeOne(sql.type(idRow)`
    select id from memberships where tenant_id = ${tenantId} and id = ${id} and status = 'active' for share`)
  return held !== null
}

const emailRow = z.object({ email: z.string() })

/** The proven addresses of members of the tenant, among these users. */
export const listProvenAddressesOf = (
  tx: Tx,
  tenantId: string,
  userIds: readonly string[],
): Promise<readonly string[]> =>
  tx.anyFirst(sql.type(emailRow)`
    select m.email from memberships m
    where m.tenant_id = ${tenantId} and m.user_id = any(${sql.array([...userIds], 'uuid')}) and m.email_verified`)

/** The proven addresses of up to 20 owners of a tenant who can sign in, those first who joined first. */
export const listOwnerAddresses = (tx: Tx, tenantId: string): Promise<readonly string[]> =>
  tx.anyFirst(sql.type(emailRow)`
    select m.email from roles r
    join membership_roles mr on mr.tenant_id = ${tenantId} and mr.role_id = r.id
    join memberships m on m.tenant_id = ${tenantId} and m.id = mr.membership_id
    where r.tenant_id = ${tenantId} and r.is_system and r.name = 'owner'
      and m.status = 'active' and m.is_active and m.email_verified
    order by m.joined_at, m.id limit 20`)

// person_memberships says in which tenants a person is a member, so that what asks for all of them finds each by its tenant
// (src/database/memberships-of.ts). Each statement that inserts or deletes memberships of people calls a function of
// this file in its transaction, after the statement. An erased person's rows go with the row in `users`.

/** Records that people are members of a tenant. */
export function addPersonMemberships(tx: Tx, tenantId: string, userIds: readonly string[]): void {
  // A process of a release before 0086 leaves the row of a membership that it deletes.
  for (const values of listsOfValues(userIds.map((userId) => [tenantId, userId])))
    tx.later(sql.unsafe`
      insert into person_memberships (tenant_id, user_id) ${values} on conflict do nothing`)
}

/** Records that a person is no member of a tenant any more. */
export function deletePersonMembership(tx: Tx, tenantId: string, userId: string): void {
  tx.later(sql.unsafe`delete from person_memberships where tenant_id = ${tenantId} and user_id = ${userId}`)
}

/** A suspension that a directory made is that of a person from now on: no directory lifts it. */
export function takeOverSuspension(tx: Tx, { tenantId, id }: { tenantId: string; id: string }): void {
  tx.later(sql.unsafe`
    update memberships set suspended_by_directory = false
    where tenant_id = ${tenantId} and id = ${id} and suspended_by_directory`)
}

/** Whether a member never entered the tenant and came by no invitation: added by their id, they may not know of it. */
export function isOnlyAdded(
  tx: Read,
  { userId, tenantId }: { userId: string; tenantId: string },
): Promise<boolean> {
  return tx.exists(sql.unsafe`
    select 1 from memberships where tenant_id = ${tenantId} and user_id = ${userId}
      and last_entered_at is null and accepted_at is null`)
}
