import { randomBytes } from 'node:crypto'
import { createPasswordHasher } from '../../crypto/passwords.ts'
import { openTenantSetUp } from '../../installation/manifests/set-up-tenant.ts'
import {
  type DemoAccount,
  randomPassword,
  type SeedDeps,
  seedDemo,
  seedMembers,
  seedTenant,
} from '../../start/development/seed.ts'
import { defineCommand, type Outcome, Refused } from '../command.ts'
import { flag, Misuse, optional, wholeNumber } from '../options.ts'
import { withPools } from '../with-database.ts'

const roles = ['api', 'system'] as const

export const seed = defineCommand({
  name: 'seed',
  about: 'Create the demo tenant unless it exists, or tenants with many people for a load test',
  options: {
    tenants: optional('<n>', 'Create this many new tenants in place of the demo', wholeNumber(1, 10_000)),
    members: optional('<m>', 'With --tenants: people in each tenant (default 3)', wholeNumber(1, 100_000)),
    yes: flag('Allow it in production'),
  },
  example: '--tenants 10 --members 100',
  roles,
  async run({ config, options: { tenants, members, yes }, say }) {
    if (members !== undefined && tenants === undefined) throw new Misuse('--members needs --tenants.')
    if (config.production && !yes)
      throw new Refused('production', 'seed creates invented people: in production add --yes.')
    const passwords = await createPasswordHasher()
    return withPools(config, roles, async (db) => {
      const deps = { db, passwords, clock: Date.now, setUpTenant: openTenantSetUp() }
      if (tenants === undefined) return demoOutcome(await seedDemo(deps))
      const seeded = await seedTenants(deps, { tenants, members: members ?? 3 }, say)
      const text = seeded.accounts.map(({ tenant, owner }) => `${tenant}  ${owner}`)
      return {
        data: seeded,
        text: [...text, `Password of every account: ${seeded.password}   (shown once)`].join('\n'),
      }
    })
  },
})

function demoOutcome(accounts: DemoAccount[] | null): Outcome {
  if (!accounts) return { data: { accounts: [] }, text: 'The demo exists already. Nothing was changed.' }
  const lines = accounts.map(({ email, password, role }) => `${email}  ${password}   (${role}; shown once)`)
  return { data: { accounts }, text: lines.join('\n') }
}

/** Accounts for a load test. All have the same password, which is shown only here. */
interface SeededTenants {
  password: string
  accounts: { tenant: string; owner: string; members: number }[]
}

// A pool of the command lets one transaction fewer run at a time than it has connections.
const tenantsAtOnce = 2

/**
 * Creates `tenants` new tenants with `members` people in each; the first of them is the owner. Addresses end in
 * load.test and contain a tag that is unique to the run. `say` reports each tenant.
 */
async function seedTenants(
  deps: SeedDeps,
  { tenants, members }: { tenants: number; members: number },
  say: (line: string) => void,
): Promise<SeededTenants> {
  const password = randomPassword()
  const passwordHash = await deps.passwords.hash(password)
  const run = randomBytes(4).toString('hex')
  const person = (tenant: number, n: number) => ({
    email: `person${n}@t${tenant}-${run}.load.test`,
    firstName: 'Load',
    lastName: `Person ${n}`,
  })
  function* others(tenant: number) {
    for (let n = 2; n <= members; n++) yield person(tenant, n)
  }
  const accounts: SeededTenants['accounts'] = []
  const seedOne = async (tenant: number) => {
    const owner = person(tenant, 1)
    const id = await seedTenant(deps, `Load ${run} ${tenant}`, { ...owner, password, passwordHash })
    if (!id) throw new Error('A random address was taken')
    await seedMembers(deps, id, { people: others(tenant), passwordHash, role: 'member' })
    accounts[tenant - 1] = { tenant: id, owner: owner.email, members }
    say(`Tenant ${tenant} of ${tenants}`)
  }
  let next = 1
  const worker = async () => {
    while (next <= tenants) await seedOne(next++)
  }
  await Promise.all(Array.from({ length: tenantsAtOnce }, worker))
  return { password, accounts }
}
