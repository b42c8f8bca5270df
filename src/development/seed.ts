import { randomBytes } from 'node:crypto'
import type { Deps } from '../deps.ts'
import { findCredentials, insertUser, markEmailVerified } from '../identity/users/store.ts'
import { asSystem, inTenant } from '../platform/db/transaction.ts'
import { appendEvent } from '../platform/outbox/append-event.ts'
import { timeOrderedId } from '../platform/outbox/time-ordered-id.ts'
import { insertMember } from '../tenancy/members/store.ts'
import { listRolesNamed } from '../tenancy/roles/store.ts'
import { createTenantWithOwner } from '../tenancy/tenants/create-tenant.ts'

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
  return insertPerson(deps, tenantId, person, async (tx, user) => {
    const at = deps.clock()
    const roles = await listRolesNamed(tx, tenantId, [person.role])
    const roleIds = roles.map((role) => role.id)
    await insertMember(tx, { id: timeOrderedId(at), tenantId, user, departmentId: null, roleIds, at })
  })
}

type Join = (
  tx: Parameters<typeof insertUser>[0],
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
    const data = { user_id: id, email }
    await appendEvent(tx, {
      type: 'identity.user_created',
      tenantId,
      subject: id,
      data,
      actorId: id,
      requestId: 'seed',
      at,
    })
    return true
  })
  if (!created) return null
  await asSystem(db, 'demo accounts need no mail', (tx) => markEmailVerified(tx, { id, email, at }))
  return id
}

/** A password of that many random bytes; use 12 or more, which cannot be guessed. */
export const randomPassword = (bytes = 12): string => randomBytes(bytes).toString('base64url')
