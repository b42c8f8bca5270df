import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Attack } from './attack.ts'
import type { Edit, Mutation } from './mutation.ts'
import { mutations } from './mutations.ts'

// npm run adversary -- --mutations: makes one mistake after the other in a copy of the checkout, and runs the attacks that
// should find it. A mistake that no attack finds has survived. A run ends at its first finding.

const root = join(import.meta.dirname, '..', '..')
const copied = ['src', 'workers', 'test', 'policies', 'package.json', 'tsconfig.json']

/** Gives 0 if at least nine of ten mistakes were found. `from` and `to` choose a part of the list. */
export async function applyMutations(
  { from, to }: { from: number; to: number },
  attacks: readonly Attack[],
): Promise<number> {
  const copy = await mkdtemp(join(tmpdir(), 'bailiwick-mutations-'))
  const names = new Set(attacks.map(({ name }) => name))
  const chosen = mutations
    .slice(from, to)
    .filter((mutation) => mutation.attacks.some((name) => names.has(name)))
  let found = 0
  let tried = 0
  try {
    for (const name of copied) await cp(join(root, name), join(copy, name), { recursive: true })
    await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
    for (const mutation of chosen) {
      const begun = performance.now()
      const stale = await staleEdit(mutation)
      if (stale)
        console.log(`OUT OF DATE        ${mutation.what}: its text is not exactly once in ${stale.file}`)
      if (stale) continue
      tried++
      const evidence = await tryMutation(copy, mutation)
      const seconds = ((performance.now() - begun) / 1000).toFixed(1)
      if (evidence) found++
      console.log(
        `${evidence ? 'found   ' : 'SURVIVED'} ${seconds.padStart(6)} s  ${mutation.what}${evidence ? ` ← ${evidence}` : ''}`,
      )
    }
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
  const share = tried === 0 ? 0 : found / tried
  console.log(`${found} of ${tried} mistakes were found: ${(100 * share).toFixed(0)} %`)
  return share >= 0.9 ? 0 : 1
}

/** The text of a file with the mistake in it; null if the file does not contain what is to be replaced exactly once. */
export async function mutated({ file, find, replace }: Edit): Promise<string | null> {
  const text = await readFile(join(root, file), 'utf8').catch(() => '')
  return text.split(find).length === 2 ? text.replace(find, () => replace) : null
}

const editsOf = (mutation: Mutation): Edit[] => [mutation, ...(mutation.also ? [mutation.also] : [])]

/** The part of a mistake that the code has no place for any more. */
async function staleEdit(mutation: Mutation): Promise<Edit | undefined> {
  for (const edit of editsOf(mutation)) if ((await mutated(edit)) === null) return edit
  return undefined
}

/** The first finding of the attacks; null if there is none. */
async function tryMutation(copy: string, mutation: Mutation): Promise<string | null> {
  const edits = editsOf(mutation)
  for (const edit of edits) await writeFile(join(copy, edit.file), (await mutated(edit)) ?? '')
  try {
    const args = ['src/entry.cjs', 'adversary', '--part', '--first', '--only', mutation.attacks.join()]
    const child = spawn(process.execPath, args, { cwd: copy, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data) => {
        output += data
      })
    const [code] = await once(child, 'close')
    if (code === 0) return null
    return (/FOUND (.*)/.exec(output)?.[1] ?? output.trim()).split('\n')[0]!.slice(0, 150)
  } finally {
    for (const { file } of edits) await cp(join(root, file), join(copy, file))
  }
}
