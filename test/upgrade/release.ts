import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { bareEnv } from '../helpers/bare-env.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')

/** The folder of this checkout: the present release. */
export const present = root

function temporaryFolder(t: Pick<Test, 'teardown'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'bailiwick-release-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/**
 * Copies the present release with additional migrations, as a next release would have; returns the folder. The event loop
 * runs meanwhile: a chaos run has its clients, its mail server and its receivers in this process.
 */
export async function nextRelease(
  t: Pick<Test, 'teardown'>,
  migrations: Record<string, string>,
): Promise<string> {
  const folder = temporaryFolder(t)
  for (const part of ['package.json', 'src', 'workers', 'packages', 'policies'])
    await cp(join(root, part), join(folder, part), { recursive: true })
  const target = join(folder, 'src', 'database', 'migrations')
  for (const [name, text] of Object.entries(migrations)) writeFileSync(join(target, name), text)
  return folder
}

export type Settings = Record<string, string>

/** Runs a command of a release. */
export async function command(folder: string, env: Settings, ...args: string[]) {
  const options = { cwd: folder, env: { ...bareEnv, ...env } }
  return run(process.execPath, ['src/start/entry.cjs', 'cli', ...args], options).then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    (error) => ({ code: error.code as number, output: error.stdout + error.stderr }),
  )
}

/** A running process of a release; `url` is empty for a worker. */
export interface Running {
  url: string
  printed(): string
  /** Sends SIGTERM; returns the exit code. */
  stop(): Promise<number | null>
}

const ready = { api: /Listening on (http:\S+)/, worker: /actors started()/ }

/** Starts an API or a worker of a release in production mode and waits until it serves; throws when it ends instead. */
export async function startRelease(
  t: Test,
  folder: string,
  what: 'api' | 'worker',
  env: Settings,
): Promise<Running> {
  const child: ChildProcess = spawn(process.execPath, ['src/start/entry.cjs', what], {
    cwd: folder,
    env: { ...bareEnv, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let printed = ''
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (part) => {
      printed += part
    })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  while (!ready[what].test(printed)) {
    if (child.exitCode !== null) throw new Error(`The ${what} ended with ${child.exitCode}:\n${printed}`)
    await sleep(20)
  }
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
    return child.exitCode
  }
  return { url: ready[what].exec(printed)![1]!, printed: () => printed, stop }
}
