import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { answer } from '../../src/cli/answer.ts'
import { bareEnv } from '../helpers/bare-env.ts'
import type { DatabaseUrls } from '../helpers/database.ts'

const entry = join(import.meta.dirname, '..', '..', 'src', 'start', 'entry.cjs')

/** The result of a command; `said` is its stderr. */
export interface Ran {
  code: number
  out: string
  said: string
  /** stdout, parsed as one JSON document. */
  // biome-ignore lint/suspicious/noExplicitAny: each test checks the shape that it expects
  json(): any
}

/** Settings for a test database whose secrets `keys` seals. */
export const settingsFor = (urls: DatabaseUrls, keys = 'A'.repeat(43)): Record<string, string> => ({
  NODE_ENV: 'test',
  DATABASE_API_URL: urls.api,
  DATABASE_SYSTEM_URL: urls.system,
  DATABASE_WORKER_URL: urls.worker,
  SECRET_KEYS: keys,
})

/** Runs `npm run cli -- …args` in its own process, with exactly these settings. */
export async function runCli(
  args: readonly string[],
  { env = {}, stdin = '' }: { env?: Record<string, string>; stdin?: string } = {},
): Promise<Ran> {
  const { HOME = '', TMPDIR = '' } = process.env
  const base = { ...bareEnv, HOME, ...(TMPDIR && { TMPDIR }) }
  const child = spawn(process.execPath, [entry, 'cli', ...args], { env: { ...base, ...env } })
  child.stdin.on('error', () => undefined) // the process can end without reading
  child.stdin.end(stdin)
  const [out, said, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { code, out, said, json: () => documentIn(out, said) }
}

/** The same inside this process, which takes a tenth of the time. For the end of a process use {@link runCli}. */
export async function callCli(
  args: readonly string[],
  { env = {}, stdin }: { env?: Record<string, string>; stdin?: string } = {},
): Promise<Ran> {
  const said: string[] = []
  const { code, out, err } = await withStdin(stdin, () =>
    answer(args, { env, say: (line) => said.push(line) }),
  )
  if (err !== '') said.push(err)
  const told = said.map((line) => `${line}\n`).join('')
  return { code, out: out && `${out}\n`, said: told, json: () => documentIn(out, told) }
}

async function withStdin<T>(given: string | undefined, work: () => Promise<T>): Promise<T> {
  if (given === undefined) return work()
  const own = Object.getOwnPropertyDescriptor(process, 'stdin')!
  Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(given)]), configurable: true })
  return work().finally(() => Object.defineProperty(process, 'stdin', own))
}

function documentIn(out: string, said: string) {
  if (out === '') throw new Error(`Nothing on stdout, and on stderr: ${said}`)
  return JSON.parse(out)
}
