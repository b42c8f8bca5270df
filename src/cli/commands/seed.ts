import { type DemoAccount, seedDemo } from '../../development/seed.ts'
import { seedTenants } from '../../development/seed-tenants.ts'
import { createPasswordHasher } from '../../platform/crypto/passwords.ts'
import { defineCommand, type Outcome, Refused } from '../command.ts'
import { flag, Misuse, optional, wholeNumber } from '../options.ts'
import { withPools } from '../with-database.ts'

const roles = ['api', 'system'] as const

export const seed = defineCommand({
  name: 'seed',
  about: 'Make the demo tenant where it is missing, or tenants full of people for a load test',
  options: {
    tenants: optional('<n>', 'In place of the demo: so many new tenants', wholeNumber(1, 10_000)),
    members: optional(
      '<m>',
      'With --tenants: so many people in each, 3 unless given',
      wholeNumber(1, 100_000),
    ),
    yes: flag('In production, too'),
  },
  example: '--tenants 10 --members 100',
  roles,
  async run({ config, options: { tenants, members, yes }, say }) {
    if (members !== undefined && tenants === undefined) throw new Misuse('--members goes with --tenants.')
    if (config.production && !yes)
      throw new Refused('production', 'These are people who do not exist: in production add --yes.')
    const passwords = await createPasswordHasher()
    return withPools(config, roles, async (db) => {
      const deps = { db, passwords, clock: Date.now }
      if (tenants === undefined) return demoOutcome(await seedDemo(deps))
      const seeded = await seedTenants(deps, { tenants, members: members ?? 3 }, say)
      const text = seeded.accounts.map(({ tenant, owner }) => `${tenant}  ${owner}`)
      return {
        data: seeded,
        text: [...text, `Password of everybody: ${seeded.password}   (shown once)`].join('\n'),
      }
    })
  },
})

function demoOutcome(accounts: DemoAccount[] | null): Outcome {
  if (!accounts) return { data: { accounts: [] }, text: 'The demo is there already; nothing was changed.' }
  const lines = accounts.map(({ email, password, role }) => `${email}  ${password}   (${role}; shown once)`)
  return { data: { accounts }, text: lines.join('\n') }
}
