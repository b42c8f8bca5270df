import t from 'tap'
import { crossTenant } from './cross-tenant.ts'
import { runAttack } from './run-attack.ts'

// The part of `npm run adversary` that runs with every test. The other attacks repeat what single tests show, on every
// route.

for (const attack of [crossTenant])
  t.test(`${attack.about}: nothing is found`, async (t) => {
    const { attempts, findings } = await runAttack(attack, 'ci')
    t.same(findings, [])
    t.comment(`${attempts} attempts`)
  })
