import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Test } from 'tap'
import { removeEmbeddedPostgres } from '../../../src/start/development/embedded-postgres.ts'
import { canEnter, chooseAccount } from '../../../src/start/development/postgres-binaries.ts'
import { volatileSettings as settings } from '../../../tools/tests/test-cluster.ts'

export const root = join(import.meta.dirname, '..', '..', '..')
export const isRoot = process.getuid?.() === 0
/** Whether the server's account cannot run the packaged binaries. Then it runs a copy, and a note says so. */
export const isClosed = !(await canEnter(await chooseAccount(), join(root, 'node_modules')))

/** A folder that the server's account can pass through. Its server is stopped and removed after the test. */
export async function dataFolder(t: Pick<Test, 'teardown'>, mode = 0o711): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'bailiwick-postgres-'))
  await chmod(parent, mode)
  const dataDir = join(parent, 'data')
  t.teardown(async () => {
    await removeEmbeddedPostgres({ dataDir })
    await rm(parent, { recursive: true, force: true })
  })
  return dataDir
}

/** Starts the server of `dataDir` in another Node process, which keeps running. Resolves when the server is ready. */
export async function startElsewhere(
  dataDir: string,
  from = root,
  more = {},
): Promise<[ChildProcess, string]> {
  const module = JSON.stringify(
    pathToFileURL(join(from, 'src', 'start', 'development', 'embedded-postgres.ts')),
  )
  const code = `import { startEmbeddedPostgres } from ${module}
    try {
      const { superuserUrl, notes } = await startEmbeddedPostgres(${JSON.stringify({ dataDir, settings, ...more })})
      console.log(JSON.stringify({ superuserUrl, notes }))
      setInterval(() => undefined, 1000)
    } catch (error) {
      console.log(JSON.stringify({ error: error.message }))
    }`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const said = await new Promise<string>((done, fail) => {
    child.stdout.once('data', (data) => done(String(data)))
    child.once('exit', () => fail(new Error('the process ended without output')))
  })
  return [child, said]
}

export async function kill9(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((done) => child.once('exit', done))
  child.kill('SIGKILL')
  await gone
}
