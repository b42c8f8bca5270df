import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const exec = promisify(execFile)

/**
 * Writes the package `@bailiwick/client` into `folder`, which it empties first: ES modules, declarations, manifest,
 * README and licence. The workspace itself is `private`, because Node runs no TypeScript from node_modules.
 */
export async function buildClient(root: string, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  await exec(process.execPath, [compiler, '-p', join(root, 'packages/client'), '--outDir', folder])
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(await manifestOf(root), null, 2)}\n`)
  await copyFile(join(root, 'packages/client/README.md'), join(folder, 'README.md'))
  await copyFile(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  // npm packs the modes of the files, which depend on the umask.
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    await chmod(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644)
}

/** Packs the package in `folder` as npm publishes it, into `into`; gives the path of the archive. */
export async function packClient(folder: string, into: string): Promise<string> {
  const { stdout } = await exec('npm', ['pack', '--json', '--offline', '--pack-destination', into], {
    cwd: folder,
  })
  const [{ filename }] = JSON.parse(stdout)
  return join(into, filename)
}

/**
 * The manifest of packages/client with the built files in place of the sources, and with the version of the service and its
 * `repository`, without which a registry takes no provenance.
 */
async function manifestOf(root: string) {
  const read = async (path: string) => JSON.parse(await readFile(join(root, path), 'utf8'))
  const { version, repository, bugs, homepage } = await read('package.json')
  const { private: _, exports: sources, ...manifest } = await read('packages/client/package.json')
  const exports = Object.entries<string>(sources).map(([name, source]) => [name, builtOf(source)])
  return {
    ...manifest,
    version,
    repository: typeof repository === 'object' ? { ...repository, directory: 'packages/client' } : repository,
    bugs,
    homepage,
    types: builtOf(sources['.']).types, // for registries, which show by it that there are types
    exports: { ...Object.fromEntries(exports), './package.json': './package.json' },
    files: ['**/*.js', '**/*.d.ts'],
  }
}

const builtOf = (source: string) => ({
  types: source.replace(/ts$/, 'd.ts'),
  default: source.replace(/ts$/, 'js'),
})
