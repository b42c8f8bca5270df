import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { projectRoot, resolveOpa } from '../src/policy-engine/opa/opa.ts'

/** Decides many questions in one request, each with the rules of the service. */
const batchRule = `package batch

decisions := [decision | some question in input.questions; decision := data.authz.decision with input as question]
`

/**
 * Starts the pinned `opa run --server` with the service's policies and this slice, on a free port of 127.0.0.1. It
 * evaluates `POST /v1/data/authz/decision` and `/v1/data/batch/decisions`, without authentication and without a log.
 */
export async function startOpa(sliceText: string, port: number) {
  const opa = await resolveOpa({ print: (line) => console.error(line) })
  const folder = await mkdtemp(join(tmpdir(), 'bailiwick-opa-'))
  const slice = join(folder, 'slice.json')
  await writeFile(slice, sliceText)
  const batch = join(folder, 'batch.rego')
  await writeFile(batch, batchRule)
  const sources = regoFiles().concat('catalogue:policies/catalogue/data.json', `slice:${slice}`, batch)
  const args = [
    'run',
    '--server',
    '--addr',
    `127.0.0.1:${port}`,
    '--log-level',
    'error',
    '--skip-version-check',
  ]
  const child = spawn(opa, [...args, ...sources], {
    cwd: projectRoot,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const url = `http://127.0.0.1:${port}`
  const stop = async () => {
    await end(child)
    await rm(folder, { recursive: true, force: true })
  }
  for (let tries = 0; tries < 100 && child.exitCode === null; tries++) {
    if (await fetch(`${url}/health`).catch(() => undefined)) return { url, pid: child.pid!, stop }
    await sleep(50)
  }
  await stop()
  throw new Error('opa run --server does not answer')
}

const regoFiles = () =>
  ['authz', 'lib'].flatMap((folder) =>
    readdirSync(join(projectRoot, 'policies', folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /(?<!_test)\.rego$/.test(name))
      .map((name) => `policies/${folder}/${name}`),
  )

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
