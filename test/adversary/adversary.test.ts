import t from 'tap'
import { crossSite } from './cross-site.ts'
import { crossTenant } from './cross-tenant.ts'
import { expiry } from './expiry.ts'
import { hostileProvider } from './hostile-provider.ts'
import { malformed } from './malformed.ts'
import { judge } from './mutation-run.ts'
import { openidFuzz } from './openid-fuzz.ts'
import { privileges } from './privileges.ts'
import { runAttack } from './run-attack.ts'
import { secondFactors } from './second-factors.ts'

// The part of `npm run adversary` that runs with every test, with fewer attempts than at night. The other attacks repeat
// what single tests show, on every route.

const size = process.env.TEST_LONG === 'true' ? 'quick' : 'ci'

for (const attack of [
  crossTenant,
  malformed,
  crossSite,
  expiry,
  privileges,
  secondFactors,
  openidFuzz,
  hostileProvider,
])
  t.test(`${attack.about}: nothing is found`, async (t) => {
    const { attempts, findings } = await runAttack(attack, size)
    t.same(findings, [])
    t.comment(`${attempts} attempts`)
  })

t.test('a mistake is found by a finding only, not by an attack that breaks off', async (t) => {
  t.same(judge(0, ''), { found: false, note: '' })
  t.same(judge(1, '  FOUND a used code: 200 '), { found: true, note: 'a used code: 200 ' })
  const gone = 'connect ECONNREFUSED 127.0.0.1:5432'
  t.equal(judge(1, `  FOUND the attack broke off: Error: ${gone}`), 'broken off')
  t.equal(judge(1, gone), 'broken off')
  t.equal(judge(null, ''), 'broken off')
})
