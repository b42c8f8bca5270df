import { execFile } from 'node:child_process'
import { mkdir, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { buildClient, packClient } from '../../tools/release/build-client.ts'

const exec = promisify(execFile)
export const root = join(import.meta.dirname, '..', '..')

/** Packs the client of this checkout into a folder; returns the path of the archive. */
export async function packedClient(folder: string): Promise<string> {
  await buildClient(root, join(folder, 'build'))
  return packClient(join(folder, 'build'), folder)
}

/** Installs a packed client into a folder like that of a stranger, with what npm would install beside it. */
export async function install(folder: string, archive: string, beside: readonly string[]): Promise<string> {
  const modules = join(folder, 'node_modules')
  const installed = join(modules, '@bailiwick/client')
  await mkdir(installed, { recursive: true })
  await exec('tar', ['-xzf', archive, '-C', installed, '--strip-components=1'])
  for (const name of ['jose', ...beside]) {
    await mkdir(dirname(join(modules, name)), { recursive: true })
    await symlink(join(root, 'node_modules', name), join(modules, name))
  }
  return installed
}

/** What the compiler says about files of a folder, in strict mode; empty if it finds nothing. */
export async function compile(folder: string, files: readonly string[]): Promise<string> {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node']
  const compiling = exec(process.execPath, [compiler, ...options, '--ignoreConfig', ...files], {
    cwd: folder,
  })
  return compiling.then(
    () => '',
    ({ stdout, stderr }) => stdout + stderr,
  )
}
