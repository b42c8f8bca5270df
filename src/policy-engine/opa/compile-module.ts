import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundleModule, policiesFolder } from '../evaluate/bundle.ts'
import { runThread } from '../sandbox/run-thread.ts'
import type { Finished } from './opa.ts'
import {
  type FindingRule,
  type Inspected,
  type ModuleFault,
  type ModuleReads,
  modulePackage,
  textFault,
} from './tenant-module.ts'

export type CompiledModule = { wasm: Uint8Array<ArrayBuffer>; reads: ModuleReads } | { faults: ModuleFault[] }

// Built-ins that modules of tenants cannot have: patterns whose cost nothing measures, and lists out of nothing.
const withheld = /^(glob\.|regex\.(?!match$)|numbers\.range|internal\.|rego\.|print|trace|opa\.)/
const kept = new Set(['internal.member_2', 'internal.member_3'])

const cpuSeconds = 5
// For the three runs of one compilation together, each on one CPU. The CPU time ends a costly one; this ends one on a machine
// that has no time for it.
const maxMs = 30_000
// Writable memory, not address space: the compiler reserves more than it uses, and would start only sometimes. A small
// module needs 128 MiB.
const maxMemoryKiB = 256 * 1024
const maxFileBlocks = (32 * 1024 * 1024) / 512
const maxWasmBytes = 1024 * 1024

/**
 * Checks and compiles a module of a tenant, in processes of their own with 5 s of CPU time, 256 MiB of memory and an empty
 * environment, a low priority, and 30 s in all. What is wrong with the text is returned as faults. Throws if the compiler cannot be run.
 */
export async function compileModule(opa: string, text: string, rule: FindingRule): Promise<CompiledModule> {
  const unfit = textFault(text)
  if (unfit) return { faults: [unfit] }
  const folder = await mkdtemp(join(tmpdir(), 'bailiwick-module-'))
  try {
    await writeFile(join(folder, 'policy.rego'), text)
    await writeFile(join(folder, 'capabilities.json'), await capabilitiesOfTenants())
    return await compileIn(folder, opa, rule)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function compileIn(folder: string, opa: string, rule: FindingRule): Promise<CompiledModule> {
  const end = performance.now() + maxMs
  const limited = (...args: string[]) =>
    runLimited(opa, args, folder, Math.max(1, Math.round(end - performance.now())))
  const parse = ['parse', '-f', 'json', '--json-include', 'locations', 'policy.rego']
  const parsed = await runLimited(opa, parse, folder, maxMs, treeFile)
  if (parsed.code !== 0) return { faults: faultsOf({ ...parsed, stdout: '' }) }
  const inspected = await inspectInThread(folder, rule)
  if ('faults' in inspected) return inspected
  const capabilities = ['--capabilities', 'capabilities.json']
  const checked = await limited('check', '--strict', '--format', 'json', ...capabilities, 'policy.rego')
  if (checked.code !== 0) return { faults: faultsOf(checked) }
  const entrypoint = ['-e', `${modulePackage}/${rule}`, '--prune-unused']
  const built = await limited('build', '-t', 'wasm', ...entrypoint, ...capabilities, 'policy.rego')
  if (built.code !== 0) return { faults: faultsOf(built) }
  const wasm = bundleModule(await readFile(join(folder, 'bundle.tar.gz')))
  if (wasm.length > maxWasmBytes)
    return { faults: [{ line: 1, column: 1, code: 'too_large', detail: 'The module is too large.' }] }
  return { wasm, reads: inspected }
}

const treeFile = 'tree.json'
const maxInspectMs = 15_000
const inspectThread = new URL('./inspect-thread.ts', import.meta.url)

/** Reads the syntax tree in a thread: it can have 32 MiB. */
async function inspectInThread(folder: string, rule: FindingRule): Promise<Inspected> {
  const late = new Error('late')
  try {
    const work = { file: join(folder, treeFile), rule }
    return await runThread<Inspected>(inspectThread, work, maxInspectMs, () => late)
  } catch (error) {
    const isTooLarge = error === late || (error as { code?: string }).code === 'ERR_WORKER_OUT_OF_MEMORY'
    if (isTooLarge) return { faults: [tooMuch] }
    throw error
  }
}

/** The built-ins of the platform's policies without those withheld from tenants. */
export async function capabilitiesOfTenants(): Promise<string> {
  const platform = JSON.parse(await readFile(`${policiesFolder}capabilities/platform.json`, 'utf8'))
  const builtins = platform.builtins.filter(
    ({ name }: { name: string }) => kept.has(name) || !withheld.test(name),
  )
  // Without this list the compiler fetches schemas from any host.
  return JSON.stringify({ ...platform, builtins, allow_net: [] })
}

// The shell sets the limits of the process that it becomes. A system without a limit goes on without it. Requests have
// the CPU first, and if memory is used up, the kernel ends the compiler first. On Kubernetes with cgroup v2 it ends all
// processes of the container (memory.oom.group), unless the kubelet has `singleProcessOOMKill: true`.
const limits = `
  ulimit -t ${cpuSeconds} 2>/dev/null; ulimit -d ${maxMemoryKiB} 2>/dev/null
  ulimit -f ${maxFileBlocks} 2>/dev/null; ulimit -c 0
  { echo 1000 > /proc/self/oom_score_adj; } 2>/dev/null
  out=$1; shift
  if [ -n "$out" ]; then exec > "$out"; fi
  if command -v nice > /dev/null; then exec nice -n 10 "$0" "$@"; fi
  exec "$0" "$@"`

/** `into` is a file of the folder that takes the output, which is then not read. */
function runLimited(opa: string, args: string[], cwd: string, timeout: number, into = ''): Promise<Finished> {
  return new Promise((resolve, reject) => {
    const options = {
      cwd,
      env: { GOMAXPROCS: '1', HOME: cwd, PATH: '/usr/bin:/bin' },
      timeout,
      killSignal: 'SIGKILL',
      maxBuffer: 1024 * 1024,
    } as const
    execFile('/bin/sh', ['-c', limits, opa, into, ...args], options, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number' && !error.killed && !error.signal) reject(error)
      else resolve({ code: error ? (typeof error.code === 'number' ? error.code : 137) : 0, stdout, stderr })
    })
  })
}

const maxFaults = 10

const tooMuch: ModuleFault = {
  line: 1,
  column: 1,
  code: 'too_costly',
  detail: 'Compiling this takes too much time or memory: write it simpler.',
}

/** What `opa` says, as JSON on stderr; without it, the compiler was stopped by a limit. */
function faultsOf({ code, stdout, stderr }: Finished): ModuleFault[] {
  const found = errorsIn(stderr) ?? errorsIn(stdout)
  if (found) return found.slice(0, maxFaults)
  if (code === 126 || code === 127) throw new Error(`opa cannot be run: ${stderr.slice(0, 200)}`)
  return [tooMuch]
}

interface OpaErrors {
  errors?: { message: string; location?: { row?: number; col?: number } }[]
}

function errorsIn(text: string): ModuleFault[] | undefined {
  try {
    const { errors } = JSON.parse(text) as OpaErrors
    return errors?.map(({ message, location }) => ({
      line: location?.row || 1,
      column: location?.col || 1,
      detail: `${message.replaceAll(/\s+/g, ' ').slice(0, 300)}.`,
    }))
  } catch {
    return undefined
  }
}
