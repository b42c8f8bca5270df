import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const exec = promisify(execFile)

/** Files that an application imports by name; the package itself is `exports`. */
const guards = ['koa', 'express', 'fastify', 'next']

/**
 * Writes the package `@bailiwick/client` into `folder`, which it empties first: ES modules, declarations, manifest,
 * README and licence. Its version is that of the service, and so is its `repository`, without which a registry takes no
 * provenance.
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
  for (const file of await readdir(folder)) await chmod(join(folder, file), 0o644)
}

/** Packs the package in `folder` as npm publishes it, into `into`; gives the path of the archive. */
export async function packClient(folder: string, into: string): Promise<string> {
  const { stdout } = await exec('npm', ['pack', '--json', '--offline', '--pack-destination', into], {
    cwd: folder,
  })
  const [{ filename }] = JSON.parse(stdout)
  return join(into, filename)
}

async function manifestOf(root: string) {
  const { version, license, repository, bugs, homepage, dependencies } = JSON.parse(
    await readFile(join(root, 'package.json'), 'utf8'),
  )
  const fileOf = (name: string) => ({ types: `./${name}.d.ts`, default: `./${name}.js` })
  return {
    name: '@bailiwick/client',
    version,
    description:
      'Client of Bailiwick: typed calls, fresh tokens, verified tokens, decisions, guards for web frameworks',
    license,
    repository: typeof repository === 'object' ? { ...repository, directory: 'packages/client' } : repository,
    bugs,
    homepage,
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20.3' },
    types: './exports.d.ts', // for registries, which show by it that there are types
    exports: {
      '.': fileOf('exports'),
      ...Object.fromEntries(guards.map((name) => [`./${name}`, fileOf(name)])),
      './package.json': './package.json',
    },
    files: ['*.js', '*.d.ts'],
    dependencies: { jose: dependencies.jose },
    publishConfig: { access: 'public', provenance: true },
  }
}
