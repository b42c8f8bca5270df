import { randomBytes } from 'node:crypto'
import { randomPassword, type SeedDeps, seedMember, seedTenant } from './seed.ts'

/** What a load test logs in with: everybody has the same password, told here and nowhere else. */
export interface SeededTenants {
  password: string
  accounts: { tenant: string; owner: string; members: number }[]
}

// Of each database role the command has two connections.
const atOnce = 2

/**
 * Makes `tenants` new tenants with `members` people in each, the first of them the owner; addresses end in
 * load.test, with a tag that no other run has. `say` hears of each tenant.
 */
export async function seedTenants(
  deps: SeedDeps,
  { tenants, members }: { tenants: number; members: number },
  say: (line: string) => void,
): Promise<SeededTenants> {
  const password = randomPassword()
  const passwordHash = await deps.passwords.hash(password)
  const run = randomBytes(4).toString('hex')
  const person = (tenant: number, n: number) => ({
    email: `person${n}@t${tenant}-${run}.load.test`,
    password,
    passwordHash,
    firstName: 'Load',
    lastName: `Person ${n}`,
  })
  const accounts: SeededTenants['accounts'] = []
  for (let tenant = 1; tenant <= tenants; tenant++) {
    const owner = person(tenant, 1)
    const id = await seedTenant(deps, `Load ${run} ${tenant}`, owner)
    if (!id) throw new Error('A random address was taken')
    for (let first = 2; first <= members; first += atOnce)
      await Promise.all(
        Array.from({ length: Math.min(atOnce, members - first + 1) }, (_, i) =>
          seedMember(deps, id, { ...person(tenant, first + i), role: 'member' }),
        ),
      )
    accounts.push({ tenant: id, owner: owner.email, members })
    say(`Tenant ${tenant} of ${tenants}`)
  }
  return { password, accounts }
}
