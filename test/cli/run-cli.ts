import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { answer } from '../../src/cli/answer.ts'
import { bareEnv } from '../helpers/bare-env.ts'
import type { DatabaseUrls } from '../helpers/database.ts'

const entry = join(import.meta.dirname, '..', '..', 'src', 'entry.cjs')

/** What a command left: `said` is its stderr. */
export interface Ran {
  code: number
  out: string
  said: string
  /** stdout as the one JSON document that it has to be. */
  // biome-ignore lint/suspicious/noExplicitAny: looked into by tests, which say what they expect
  json(): any
}

/** Settings that name a database of tests, as `keys` seals it. */
export const settingsFor = (urls: DatabaseUrls, keys = 'A'.repeat(43)): Record<string, string> => ({
  NODE_ENV: 'test',
  DATABASE_API_URL: urls.api,
  DATABASE_SYSTEM_URL: urls.system,
  DATABASE_WORKER_URL: urls.worker,
  SECRET_KEYS: keys,
})

/** Runs `npm run cli -- …args` as a process of its own with exactly these settings. */
export async function runCli(
  args: readonly string[],
  { env = {}, stdin = '' }: { env?: Record<string, string>; stdin?: string } = {},
): Promise<Ran> {
  const { HOME = '', TMPDIR = '' } = process.env
  const base = { ...bareEnv, HOME, ...(TMPDIR && { TMPDIR }) }
  const child = spawn(process.execPath, [entry, 'cli', ...args], { env: { ...base, ...env } })
  child.stdin.on('error', () => undefined) // it may end without reading
  child.stdin.end(stdin)
  const [out, said, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  return { code, out, said, json: () => documentIn(out, said) }
}

/** The same in this process, in the time of a call; what reads stdin or needs a process to end is for {@link runCli}. */
export async function callCli(
  args: readonly string[],
  { env = {} }: { env?: Record<string, string> } = {},
): Promise<Ran> {
  const said: string[] = []
  const { code, out, err } = await answer(args, { env, say: (line) => said.push(line) })
  if (err !== '') said.push(err)
  const told = said.map((line) => `${line}\n`).join('')
  return { code, out: out && `${out}\n`, said: told, json: () => documentIn(out, told) }
}

function documentIn(out: string, said: string) {
  if (out === '') throw new Error(`Nothing on stdout, and on stderr: ${said}`)
  return JSON.parse(out)
}
