import { defaulted, flag, namesOf, optional, wholeNumber } from '../../src/cli/options.ts'
import { scriptOptions } from '../../src/cli/script-options.ts'
import { buildConsole } from '../../tools/console/bundle.ts'
import { startTestCluster } from '../../tools/tests/test-cluster.ts'
import type { Attack, Size } from './attack.ts'
import { attacks } from './attacks.ts'
import { applyMutations } from './mutation-run.ts'
import { runAttack } from './run-attack.ts'

// npm run adversary: attacks a service of its own on a temporary cluster, and prints what was tried and what was found.
// It exits 1 when an attack found something.

const findingsShown = 20

async function main(): Promise<number> {
  const values = scriptOptions('adversary', {
    quick: flag('A smaller part'),
    only: optional('<attack>,...', 'These attacks', namesOf(attacks.map(({ name }) => name))),
    mutations: flag('Prove that the attacks find mistakes'),
    part: flag('The part that npm test runs'),
    first: flag('End at the first finding'),
    from: defaulted('<n>', 'The first mutation', wholeNumber(0, 999), 0),
    to: defaulted('<n>', 'The last mutation', wholeNumber(0, 999), 999),
  })
  const { only } = values
  const chosen = attacks.filter(({ name }) => only === undefined || only.includes(name))
  await buildConsole()
  const given = process.env.TEST_DATABASE_URL
  const cluster = given ? undefined : await startTestCluster()
  try {
    process.env.TEST_DATABASE_URL = given ?? cluster!.superuserUrl
    if (values.mutations) return await applyMutations({ from: values.from, to: values.to }, chosen)
    const size = values.part ? 'ci' : values.quick ? 'quick' : 'whole'
    return await attackAll(chosen, size, values.first)
  } finally {
    await cluster?.remove()
  }
}

async function attackAll(chosen: readonly Attack[], size: Size, stopsAtFirst: boolean): Promise<number> {
  const rows: Record<string, Record<string, number>> = {}
  let found = 0
  for (const attack of chosen) {
    const begun = performance.now()
    const { attempts, held, serverErrors, findings, figures } = await runAttack(attack, size, {
      stopsAtFirst,
    })
    const seconds = Math.round((performance.now() - begun) / 100) / 10
    rows[attack.name] = {
      attempts,
      'as expected': held,
      '5xx': serverErrors,
      findings: findings.length,
      seconds,
    }
    found += findings.length
    console.log(`${attack.name}: ${attack.about}`)
    for (const figure of figures) console.log(`  ${figure}`)
    for (const finding of findings.slice(0, findingsShown)) console.log(`  FOUND ${finding}`)
    if (found > 0 && stopsAtFirst) return 1
    if (findings.length > findingsShown) console.log(`  and ${findings.length - findingsShown} more`)
  }
  console.table(rows)
  console.log(`${found} findings`)
  return found === 0 ? 0 : 1
}

main().then(
  (code) => process.exit(code),
  (error) => {
    console.error((error as Error).message)
    process.exit(1)
  },
)
