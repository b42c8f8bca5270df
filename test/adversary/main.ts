import { parseArgs } from 'node:util'
import { startTestCluster } from '../../src/test-runner/test-cluster.ts'
import type { Attack, Size } from './attack.ts'
import { attacks } from './attacks.ts'
import { applyMutations } from './mutation-run.ts'
import { runAttack } from './run-attack.ts'

// npm run adversary: attacks a service of its own on a temporary cluster, and prints what was tried and what was found.
// It exits 1 when an attack found something.

const findingsShown = 20

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      mutations: { type: 'boolean', default: false },
      /** The part that `npm test` runs, and an end at the first finding: for the mutations. */
      part: { type: 'boolean', default: false },
      first: { type: 'boolean', default: false },
      from: { type: 'string', default: '0' },
      to: { type: 'string', default: '999' },
    },
  })
  const chosen = choose(values.only?.split(','))
  const given = process.env.TEST_DATABASE_URL
  const cluster = given ? undefined : await startTestCluster()
  try {
    process.env.TEST_DATABASE_URL = given ?? cluster!.superuserUrl
    if (values.mutations)
      return await applyMutations({ from: Number(values.from), to: Number(values.to) }, chosen)
    const size = values.part ? 'ci' : values.quick ? 'quick' : 'whole'
    return await attackAll(chosen, size, values.first)
  } finally {
    await cluster?.remove()
  }
}

function choose(names: string[] | undefined): Attack[] {
  const unknown = names?.find((name) => !attacks.some((attack) => attack.name === name))
  if (unknown)
    throw new Error(
      `Unknown attack ${unknown}. The attacks are: ${attacks.map(({ name }) => name).join(', ')}`,
    )
  return attacks.filter(({ name }) => names === undefined || names.includes(name))
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
