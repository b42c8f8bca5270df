import { randomBytes } from 'node:crypto'
import type { Deps } from '../deps.ts'
import { findCredentials, insertUser, markEmailVerified } from '../identity/users/store.ts'
import { asSystem, inTenant } from '../platform/db/transaction.ts'
import { appendEvent } from '../platform/outbox/append-event.ts'
import { timeOrderedId } from '../platform/outbox/time-ordered-id.ts'
import { insertMember } from '../tenancy/members/store.ts'
import { listRolesNamed } from '../tenancy/roles/store.ts'
import { foundTenant } from '../tenancy/tenants/create-tenant.ts'

/** A demo account; the password is told here and nowhere else. */
export interface DemoAccount {
  email: string
  password: string
  role: string
}

const origin = { requestId: 'seed', ip: '', userAgent: '', traceparent: null }

/** Makes the tenant Demo Ltd with an admin who owns it and an auditor, once; later calls give null and change nothing. */
export async function seedDemo(deps: Deps): Promise<DemoAccount[] | null> {
  const admin = {
    email: 'admin@demo.test',
    password: randomPassword(),
    role: 'owner',
    firstName: 'Ada',
    lastName: 'Admin',
  }
  const auditor = {
    email: 'auditor@demo.test',
    password: randomPassword(),
    role: 'auditor',
    firstName: 'Abel',
    lastName: 'Auditor',
  }
  if (await asSystem(deps.db, 'is there a demo already', (tx) => findCredentials(tx, admin.email)))
    return null
  const at = deps.clock()
  const tenantId = timeOrderedId(at)
  const adminId = await insertPerson(deps, tenantId, admin, async (tx, founder) => {
    await foundTenant(tx, { id: tenantId, name: 'Demo Ltd', slug: undefined, founder, origin, at })
  })
  if (!adminId) return null
  await insertPerson(deps, tenantId, auditor, async (tx, user) => {
    const roles = await listRolesNamed(tx, tenantId, [auditor.role])
    const id = timeOrderedId(at)
    await insertMember(tx, {
      id,
      tenantId,
      user,
      departmentId: null,
      roleIds: roles.map((role) => role.id),
      at,
    })
  })
  return [admin, auditor].map(({ email, password, role }) => ({ email, password, role }))
}

type Join = (
  tx: Parameters<typeof insertUser>[0],
  user: { id: string; email: string; firstName: string; lastName: string },
) => Promise<void>

async function insertPerson(
  { db, passwords, clock }: Deps,
  tenantId: string,
  person: { email: string; password: string; firstName: string; lastName: string },
  join: Join,
): Promise<string | null> {
  const passwordHash = await passwords.hash(person.password)
  const at = clock()
  const id = timeOrderedId(at)
  const { email, firstName, lastName } = person
  const made = await inTenant(db, { tenantId, userId: id }, async (tx) => {
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
  if (!made) return null
  await asSystem(db, 'demo accounts need no mail', (tx) => markEmailVerified(tx, { id, email, at }))
  return id
}

const randomPassword = () => randomBytes(12).toString('base64url')
