import t from 'tap'
import { attacks } from './attacks.ts'
import { crossSite } from './cross-site.ts'
import { crossTenant } from './cross-tenant.ts'
import { expiry } from './expiry.ts'
import { malformed } from './malformed.ts'
import { mutated } from './mutation-run.ts'
import { mutations } from './mutations.ts'
import { privileges } from './privileges.ts'
import { runAttack } from './run-attack.ts'
import { secondFactors } from './second-factors.ts'

// The part of `npm run adversary` that runs with every test. The other attacks repeat what single tests show, on every
// route.

for (const attack of [crossTenant, malformed, crossSite, expiry, privileges, secondFactors])
  t.test(`${attack.about}: nothing is found`, async (t) => {
    const { attempts, findings } = await runAttack(attack, 'ci')
    t.same(findings, [])
    t.comment(`${attempts} attempts`)
  })

t.test('the mistakes that the attacks have to find are still possible', async (t) => {
  const gone: string[] = []
  for (const mutation of mutations)
    if ((await mutated(mutation)) === null) gone.push(`${mutation.what}: ${mutation.file}`)
  t.comment(`out of date in test/adversary/mutations: ${gone.join('; ') || 'none'}`)
  t.ok(mutations.length - gone.length >= 60, `${mutations.length - gone.length} mistakes`)
  const unknown = mutations
    .flatMap((mutation) => mutation.attacks)
    .filter((name) => !attacks.some((one) => one.name === name))
  t.same(unknown, [], 'each names attacks that exist')
})
