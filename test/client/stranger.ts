import { execFile } from 'node:child_process'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { buildClient, packClient } from '../../tools/release/build-client.ts'

const exec = promisify(execFile)
export const root = join(import.meta.dirname, '..', '..')

export const repository = { type: 'git', url: 'git+https://git.example/b.git' }

/** Packs the client of this checkout, as if it had a repository, into a folder; returns the path of the archive. */
export async function packedClient(folder: string): Promise<string> {
  const checkout = join(folder, 'checkout')
  await mkdir(checkout)
  for (const part of ['packages', 'node_modules', 'LICENSE'])
    await symlink(join(root, part), join(checkout, part))
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  await writeFile(join(checkout, 'package.json'), JSON.stringify({ ...manifest, repository }))
  await buildClient(checkout, join(folder, 'build'))
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
