import { createHash } from 'node:crypto'
import { chmod, mkdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Account, canEnter, chooseAccount, refuseForeign } from './postgres-binaries.ts'

/**
 * The files of an embedded cluster, and the account that runs its server. `home` holds `data/`, `password`, `port` and
 * `keeper` (the process ids of the server and of the process that started it). `data` and `password` belong to
 * `account`, everything else to the current user. `mode` is that of `home`. `notes` are sentences for the user.
 */
export type Cluster = {
  home: string
  data: string
  log: string
  account: Account
  mode: number
  notes: string[]
}

const isRoot = process.getuid?.() === 0

/** Finds or chooses the cluster for `dataDir`. Creates only `dataDir` itself. Throws if no account can run a server. */
export async function prepareCluster(dataDir: string): Promise<Cluster> {
  const mode = isRoot ? 0o711 : 0o700 // root's server runs as another user, who must be able to pass through
  if (await mkdir(dataDir, { recursive: true, mode })) await chmod(dataDir, mode) // mkdir applies the umask
  const [existing] = await findClusters(dataDir)
  if (existing) return existing
  const folder = await realpath(dataDir)
  const account = await chooseAccount()
  return clusterAt(
    (await canEnter(account, folder)) ? join(folder, 'postgres') : outside(folder),
    folder,
    account,
  )
}

/** The existing clusters of `dataDir`: none, one, or two if the permissions of the folder changed. */
export async function findClusters(dataDir: string): Promise<Cluster[]> {
  const folder = await realpath(dataDir).catch(() => dataDir)
  const clusters: Cluster[] = []
  for (const home of homesOf(folder)) {
    if (!(await stat(home).catch(() => undefined))) continue
    if (home === outside(folder)) await refuseForeign(home)
    clusters.push(clusterAt(await realpath(home), folder, await accountOf(join(home, 'data'))))
  }
  return clusters
}

/** Where the cluster of `folder` can be: in the folder, and for root also outside. */
export function homesOf(folder: string): string[] {
  const within = join(folder, 'postgres')
  return isRoot ? [within, outside(folder)] : [within]
}

function clusterAt(home: string, folder: string, account: Account): Cluster {
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

/** Not in the temporary folder, which is emptied at a restart. */
function outside(folder: string): string {
  return `/var/tmp/bailiwick-${createHash('sha256').update(folder).digest('hex').slice(0, 12)}`
}

/** An existing cluster keeps its account, also if a user created it and root starts it. */
async function accountOf(data: string): Promise<Account> {
  if (!isRoot) return {}
  const { uid, gid } = await stat(data).catch(() => ({ uid: 0, gid: 0 }))
  return uid === 0 ? await chooseAccount() : { uid, gid }
}
