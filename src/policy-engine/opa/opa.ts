import { execFile } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The version of the compiler that builds the committed bundle. Another version can give other bytes. */
export const opaVersion = '1.22.0'

/** The root of the project. `opa` always runs from here, because file names become part of the module. */
export const projectRoot = fileURLToPath(new URL('../../../', import.meta.url))

export type Print = (line: string) => void

export interface OpaOptions {
  /** The only executable to use. */
  opaPath?: string
  /** False: use only what is already installed or cached. */
  install?: boolean
  print: Print
}

export class OpaMissing extends Error {}

const cached = `${projectRoot}.cache/opa/${opaVersion}/opa${process.platform === 'win32' ? '.exe' : ''}`

/**
 * The path of `opa` at the pinned version: `opaPath`, or else the first of: on PATH, in the project's cache, installed
 * into the cache by `go`, which checks what it builds against Go's checksum database. Throws `OpaMissing`, which says what
 * to do. It downloads no program: a checksum from the same place would prove nothing.
 */
export async function resolveOpa({ opaPath, install = true, print }: OpaOptions): Promise<string> {
  if (opaPath) {
    if (await isPinned(opaPath)) return opaPath
    throw new OpaMissing(`OPA_PATH names ${opaPath}, which is not opa ${opaVersion}`)
  }
  for (const candidate of ['opa', cached]) if (await isPinned(candidate)) return candidate
  if (install && (await goInstall(print))) return cached
  throw new OpaMissing(
    `Building the policies needs opa ${opaVersion}: install a current Go, or put opa on PATH or name it in OPA_PATH ` +
      `(https://github.com/open-policy-agent/opa/releases/tag/v${opaVersion})`,
  )
}

/** The path of a program that is found on PATH, for a process with another PATH. */
export async function pathOf(program: string): Promise<string> {
  if (program.includes('/')) return program
  const { code, stdout } = await run('/bin/sh', ['-c', 'command -v -- "$0"', program])
  return code === 0 ? stdout.trim() : program
}

export interface Finished {
  code: number
  stdout: string
  stderr: string
}

/** Runs a program, from the root of the project or `cwd`, to its end. The code is 127 if it cannot be started. */
export function run(
  program: string,
  args: readonly string[],
  timeoutMs = 60_000,
  cwd = projectRoot,
): Promise<Finished> {
  return new Promise((resolve) => {
    const options = { cwd, timeout: timeoutMs, maxBuffer: 64 * 1024 * 1024 }
    execFile(program, args, options, (error, stdout, stderr) => {
      resolve({ code: exitCode(error), stdout, stderr: stderr || (error?.message ?? '') })
    })
  })
}

function exitCode(error: { code?: unknown } | null): number {
  if (!error) return 0
  return typeof error.code === 'number' ? error.code : 127
}

async function isPinned(candidate: string): Promise<boolean> {
  const { code, stdout } = await run(candidate, ['version'])
  return code === 0 && stdout.startsWith(`Version: ${opaVersion}\n`)
}

async function goInstall(print: Print): Promise<boolean> {
  if ((await run('go', ['version'])).code !== 0) return false
  print(`Installing opa ${opaVersion} with go, once (about a minute)`)
  const target = `github.com/open-policy-agent/opa@v${opaVersion}`
  // The program `env` adds a variable to the inherited environment; only the configuration reads the environment.
  const { code, stderr } = await run('env', [`GOBIN=${dirname(cached)}`, 'go', 'install', target], 600_000)
  if (code !== 0) print(`go install failed: ${stderr.trim().split('\n').at(-1)}`)
  return code === 0 && isPinned(cached)
}
