import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { Attack } from './attack.ts'
import type { Edit, Mutation } from './mutation.ts'
import { mutations } from './mutations.ts'
import { brokenOff } from './run-attack.ts'

// npm run adversary -- --mutations: makes one mistake after the other in a copy of the checkout, and runs the attacks that
// should find it. A mistake is found only if an attack reports a finding: an attack that breaks off proves nothing, and a
// Postgres that is gone ends the run. A run ends at its first finding.

const root = join(import.meta.dirname, '..', '..')
const copied = [
  'src',
  'workers',
  'packages',
  'tools',
  'test',
  'policies',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
]

type Verdict = { found: boolean; note: string }

/** Gives 0 if at least nine of ten mistakes were found. `from` and `to` choose a part of the list. Throws if Postgres ends. */
export async function applyMutations(
  { from, to }: { from: number; to: number },
  attacks: readonly Attack[],
): Promise<number> {
  const copy = await mkdtemp(join(tmpdir(), 'bailiwick-mutations-'))
  const names = new Set(attacks.map(({ name }) => name))
  const tally = { found: 0, tried: 0, stale: 0 }
  try {
    for (const name of copied) await cp(join(root, name), join(copy, name), { recursive: true })
    await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
    for (const [index, mutation] of mutations.entries()) {
      if (index < from || index >= to || !mutation.attacks.some((name) => names.has(name))) continue
      const { stale } = await filesOf(mutation)
      if (stale) console.log(`OUT OF DATE        ${mutation.what}: its text is not exactly once in ${stale}`)
      if (stale) tally.stale++
      else await tryAndTell(copy, index, tally)
    }
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
  const { found, tried, stale } = tally
  const share = tried === 0 ? 0 : found / tried
  console.log(`${found} of ${tried} mistakes were found: ${(100 * share).toFixed(0)} %; ${stale} out of date`)
  return share >= 0.9 && stale === 0 ? 0 : 1
}

async function tryAndTell(
  copy: string,
  index: number,
  tally: { found: number; tried: number },
): Promise<void> {
  const mutation = mutations[index]!
  const begun = performance.now()
  let verdict = await tryMutation(copy, mutation)
  if (!(await isPostgresThere())) throw new Error(`Postgres ended. Go on with: --mutations --from ${index}`)
  if (verdict === 'broken off') verdict = await tryMutation(copy, mutation)
  const { found, note } =
    verdict === 'broken off' ? { found: false, note: 'the attack broke off, twice' } : verdict
  tally.tried++
  if (found) tally.found++
  const seconds = ((performance.now() - begun) / 1000).toFixed(1).padStart(6)
  console.log(
    `${found ? 'found   ' : 'SURVIVED'} ${seconds} s  ${index} ${mutation.what}${note && ` ← ${note}`}`,
  )
}

/** The changed files of a mistake, by path. `stale` is the file that has no place for it any more: its text is not there exactly once. */
export async function filesOf(
  mutation: Mutation,
): Promise<{ texts: Map<string, string>; stale: string | null }> {
  const texts = new Map<string, string>()
  for (const { file, find, replace } of [mutation, ...(mutation.also ?? [])] as Edit[]) {
    const text = texts.get(file) ?? (await readFile(join(root, file), 'utf8').catch(() => ''))
    if (text.split(find).length !== 2) return { texts, stale: file }
    texts.set(
      file,
      text.replace(find, () => replace),
    )
  }
  return { texts, stale: null }
}

async function tryMutation(copy: string, mutation: Mutation): Promise<Verdict | 'broken off'> {
  const { texts } = await filesOf(mutation)
  for (const [file, text] of texts) await writeFile(join(copy, file), text)
  try {
    const args = ['src/start/entry.cjs', 'adversary', '--part', '--first', '--only', mutation.attacks.join()]
    const child = spawn(process.execPath, args, { cwd: copy, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data) => {
        output += data
      })
    const [code] = await once(child, 'close')
    const verdict = judge(code, output)
    if (verdict === 'broken off') console.log(`broken off: ${output.trim().slice(-300)}`)
    return verdict
  } finally {
    for (const file of texts.keys()) await cp(join(root, file), join(copy, file))
  }
}

/** What the attacks of one run say. They stop at the first finding, so the last one may only be that the attack broke off. */
export function judge(code: number | null, output: string): Verdict | 'broken off' {
  if (code === 0) return { found: false, note: '' }
  const findings = [...output.matchAll(/FOUND (.*)/g)].map(([, finding]) => finding!)
  const finding = findings.find((one) => !one.startsWith(brokenOff))
  return finding ? { found: true, note: finding.slice(0, 150) } : 'broken off'
}

async function isPostgresThere(): Promise<boolean> {
  const client = new pg.Client({ connectionString: process.env.TEST_DATABASE_URL! })
  return client.connect().then(
    () => client.end().then(() => true),
    () => false,
  )
}
