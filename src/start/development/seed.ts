import { randomBytes } from 'node:crypto'
import { asSystem, inTenant, type Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { markProven } from '../../identity/users/address-store.ts'
import { findCredentials, insertUser, insertUsers } from '../../identity/users/store.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { insertMembers } from '../../tenancy/members/bulk-store.ts'
import { insertMember } from '../../tenancy/members/store.ts'
import { listRolesNamed } from '../../tenancy/roles/store.ts'
import { createTenantWithOwner } from '../../tenancy/tenants/create-tenant.ts'

/** A demo account. The password is shown only here. */
export interface DemoAccount {
  email: string
  password: string
  role: string
}

/** The dependencies of seeding. */
export type SeedDeps = Pick<Deps, 'passwords' | 'clock' | 'setUpTenant'> & {
  db: Pick<Deps['db'], 'api' | 'system'>
}

const requestInfo = { requestId: 'seed', ip: '', userAgent: '', traceparent: null }

/** Creates the tenant Demo Ltd with an admin, who owns it, and an auditor. Later calls change nothing and give null. */
export async function seedDemo(deps: SeedDeps): Promise<DemoAccount[] | null> {
  const admin = demoPerson('admin@demo.test', 'owner', 'Ada', 'Admin')
  const auditor = demoPerson('auditor@demo.test', 'auditor', 'Abel', 'Auditor')
  if (await asSystem(deps.db, 'the demo tenant may exist already', (tx) => findCredentials(tx, admin.email)))
    return null
  const tenantId = await seedTenant(deps, 'Demo Ltd', admin)
  if (!tenantId) return null
  await seedMember(deps, tenantId, auditor)
  return [admin, auditor].map(({ email, password, role }) => ({ email, password, role }))
}

const demoPerson = (email: string, role: string, firstName: string, lastName: string) => ({
  email,
  password: randomPassword(),
  role,
  firstName,
  lastName,
})

/** An invented person. Give `passwordHash` if many share one password, because hashing is slow. */
export interface SeedPerson {
  email: string
  password: string
  passwordHash?: string
  firstName: string
  lastName: string
}

/** Creates a verified person and a tenant that they own. Gives the tenant's id, or null if the address has an account. */
export async function seedTenant(deps: SeedDeps, name: string, owner: SeedPerson): Promise<string | null> {
  const at = deps.clock()
  const tenantId = timeOrderedId(at)
  const created = await insertPerson(deps, tenantId, owner, async (tx, founder) => {
    await createTenantWithOwner(tx, deps, { id: tenantId, name, slug: undefined, founder, requestInfo, at })
  })
  return created && tenantId
}

/** Creates a verified person as a member with a role. Gives their id, or null if the address has an account. */
export function seedMember(
  deps: SeedDeps,
  tenantId: string,
  person: SeedPerson & { role: string },
): Promise<string | null> {
  return insertPerson(deps, tenantId, person, async (tx, { id: userId }) => {
    const at = deps.clock()
    const roleIds = await idsOfRole(tx, tenantId, person.role)
    await insertMember(tx, { id: timeOrderedId(at), tenantId, userId, departmentId: null, roleIds, at })
  })
}

const idsOfRole = async (tx: Tx, tenantId: string, role: string) =>
  (await listRolesNamed(tx, tenantId, [role])).map(({ id }) => id)

const perTransaction = 250

/**
 * Creates verified people as members with a role, 250 in a transaction. They share one password hash. The rows are those
 * that {@link seedMember} writes. Throws if an address has an account.
 */
export async function seedMembers(
  { db, clock }: Pick<SeedDeps, 'db' | 'clock'>,
  tenantId: string,
  { people, passwordHash, role }: { people: Iterable<NamedPerson>; passwordHash: string; role: string },
): Promise<void> {
  for (const some of inGroups(people, perTransaction)) {
    const at = clock()
    const users = some.map((person) => ({
      ...person,
      id: timeOrderedId(at),
      passwordHash,
      isVerified: true,
      at,
    }))
    await inTenant(db, { tenantId, userId: users[0]!.id }, async (tx) => {
      const roleIds = await idsOfRole(tx, tenantId, role)
      insertUsers(tx, users)
      const members = users.map((user) => ({ id: timeOrderedId(at), user, roleIds }))
      insertMembers(tx, { tenantId, members, at })
      for (const { id, email } of users) await appendUserCreated(tx, { tenantId, id, email, at })
    })
  }
}

type NamedPerson = Pick<SeedPerson, 'email' | 'firstName' | 'lastName'>

function* inGroups<T>(all: Iterable<T>, size: number): Generator<T[]> {
  let group: T[] = []
  for (const each of all) {
    group.push(each)
    if (group.length < size) continue
    yield group
    group = []
  }
  if (group.length > 0) yield group
}

const appendUserCreated = (
  tx: Tx,
  { tenantId, id, email, at }: { tenantId: string; id: string; email: string; at: number },
) =>
  appendEvent(tx, {
    type: 'identity.user_created',
    tenantId,
    subject: id,
    data: { user_id: id, email },
    actorId: id,
    requestId: 'seed',
    at,
  })

type Join = (
  tx: Tx,
  user: { id: string; email: string; firstName: string; lastName: string },
) => Promise<void>

async function insertPerson(
  { db, passwords, clock }: SeedDeps,
  tenantId: string,
  person: SeedPerson,
  join: Join,
): Promise<string | null> {
  const passwordHash = person.passwordHash ?? (await passwords.hash(person.password))
  const at = clock()
  const id = timeOrderedId(at)
  const { email, firstName, lastName } = person
  const created = await inTenant(db, { tenantId, userId: id }, async (tx) => {
    if (!(await insertUser(tx, { id, email, passwordHash, firstName, lastName, at }))) return false
    await join(tx, { id, email, firstName, lastName })
    await appendUserCreated(tx, { tenantId, id, email, at })
    return true
  })
  if (!created) return null
  await asSystem(db, 'demo accounts need no mail', (tx) => markProven(tx, { id, email, at }))
  return id
}

/** A password of that many random bytes; use 12 or more, which cannot be guessed. */
export const randomPassword = (bytes = 12): string => randomBytes(bytes).toString('base64url')
