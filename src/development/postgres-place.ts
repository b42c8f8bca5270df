import { createHash } from 'node:crypto'
import { chmod, mkdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Account, canEnter, chooseAccount, refuseForeign } from './postgres-binaries.ts'

/**
 * Where an embedded cluster lives and whom it runs as. `home` holds `data/`, `password`, `port` and
 * `keeper` (the ids of the server and of the process that started it); it is ours, only `data` and `password` belong to the account of the server.
 */
export type Place = {
  home: string
  data: string
  log: string
  account: Account
  mode: number
  notes: string[]
}

const isRoot = process.getuid?.() === 0

/** The place of the cluster of `dataDir`, old or new; creates `dataDir` alone. Throws where no account fits. */
export async function preparePlace(dataDir: string): Promise<Place> {
  const mode = isRoot ? 0o711 : 0o700 // as root the server is another user, who has to pass through
  if (await mkdir(dataDir, { recursive: true, mode })) await chmod(dataDir, mode) // whatever our umask is
  const [existing] = await findPlaces(dataDir)
  if (existing) return existing
  const folder = await realpath(dataDir)
  const account = await chooseAccount()
  return placeAt(
    (await canEnter(account, folder)) ? join(folder, 'postgres') : outside(folder),
    folder,
    account,
  )
}

/** Every place where a cluster of `dataDir` exists: none, one, or two after the folder's permissions changed. */
export async function findPlaces(dataDir: string): Promise<Place[]> {
  const folder = await realpath(dataDir).catch(() => dataDir)
  const places: Place[] = []
  for (const home of homesOf(folder)) {
    if (!(await stat(home).catch(() => undefined))) continue
    if (home === outside(folder)) await refuseForeign(home)
    places.push(placeAt(await realpath(home), folder, await accountOf(join(home, 'data'))))
  }
  return places
}

/** Where a cluster of `folder` may lie: in it, and for root outside as well. */
export function homesOf(folder: string): string[] {
  const within = join(folder, 'postgres')
  return isRoot ? [within, outside(folder)] : [within]
}

function placeAt(home: string, folder: string, account: Account): Place {
  const elsewhere = home === outside(folder)
  const why = `Postgres files are in ${home} because the user Postgres runs as (uid ${account.uid}) cannot enter ${folder}`
  return {
    home,
    data: join(home, 'data'),
    log: join(folder, 'postgres.log'),
    account,
    mode: isRoot ? 0o711 : 0o700,
    notes: elsewhere ? [why] : [],
  }
}

/** Not the temporary folder: what lies there is gone after a restart. */
function outside(folder: string): string {
  return `/var/tmp/bailiwick-${createHash('sha256').update(folder).digest('hex').slice(0, 12)}`
}

/** An existing cluster keeps its owner, also when root starts what a user created. */
async function accountOf(data: string): Promise<Account> {
  if (!isRoot) return {}
  const { uid, gid } = await stat(data).catch(() => ({ uid: 0, gid: 0 }))
  return uid === 0 ? await chooseAccount() : { uid, gid }
}
