import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const STARTING_MS = 30_000
const ABANDONED_MS = 10_000
const fileName = 'instance.json'

type Holder = { id: string; pid: number; born?: string; since: number; url?: string }
export type InstanceLock = { announce(url: string): Promise<void>; release(): Promise<void> }

/** Thrown if another running process holds the data folder; `holder` is what that process wrote about itself. */
export class InstanceRunning extends Error {
  readonly holder: Partial<Holder>

  constructor(dataDir: string, holder: Partial<Holder>) {
    const where = holder.url ? `is running at ${holder.url}` : 'is starting or stopping'
    super(`Bailiwick ${where} (pid ${holder.pid}) on ${dataDir}. Stop it, or set DATA_DIR to another folder.`)
    this.name = 'InstanceRunning'
    this.holder = holder
  }
}

/**
 * Makes this process the only one on `dataDir`, and creates the folder. `announce` records the URL of this service for
 * later starts. Call `release` last, after the database has stopped. Throws InstanceRunning.
 */
export async function acquireInstanceLock(dataDir: string): Promise<InstanceLock> {
  const mode = process.getuid?.() === 0 ? 0o711 : 0o700 // root's Postgres runs as another user, who must pass through
  if (await mkdir(dataDir, { recursive: true, mode })) await chmod(dataDir, mode)
  const file = join(dataDir, fileName)
  const mine: Holder = {
    id: randomUUID(),
    pid: process.pid,
    born: statOf(process.pid)?.born,
    since: Date.now(),
  }
  while (!(await create(file, mine))) {
    const found = await readFile(file, 'utf8').catch(() => undefined)
    if (found === undefined) continue // released in the meantime
    if (await isHeld(file, found)) throw new InstanceRunning(dataDir, parse(found))
    if (await takeOver(file, found, mine)) break
  }
  return {
    announce: (url) => replace(file, { ...mine, url }),
    release: async () => {
      const found = await readFile(file, 'utf8').catch(() => '')
      if (parse(found).id === mine.id) await rm(file, { force: true })
    },
  }
}

/** The URL of the service that holds `dataDir`; undefined if none runs there, or if it is not ready yet. */
export async function findRunningUrl(dataDir: string): Promise<string | undefined> {
  const file = join(dataDir, fileName)
  const found = await readFile(file, 'utf8').catch(() => undefined)
  return found !== undefined && (await isHeld(file, found)) ? parse(found).url : undefined
}

/**
 * Whether a process with that id runs, of this user or of another. In a container whose first process collects no children, one
 * that has ended keeps its id as a zombie: on Linux it counts as ended.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  return statOf(pid)?.state !== 'Z'
}

/**
 * Whether the holder still runs. A process with its pid proves little: pids are reused, and in a container ours is always
 * the same. On Linux the start time of the process decides. Elsewhere an announced URL has to answer; a holder that has
 * announced none counts as running for 30 s.
 */
async function isHeld(file: string, text: string): Promise<boolean> {
  const { pid, born, url, since } = parse(text)
  if (pid === undefined) return isYoung(file, STARTING_MS) // created, but not written yet
  if (!isAlive(pid)) return false
  const now = statOf(pid)?.born
  if (born !== undefined && now !== undefined) return born === now
  if (url !== undefined) return answers(url)
  return Date.now() - (since ?? 0) < STARTING_MS
}

/**
 * Replaces the lock of a dead holder. Only the process that creates the guard file does this, and only if the lock is
 * still the one that was checked. False means: check again.
 */
async function takeOver(file: string, checked: string, mine: Holder): Promise<boolean> {
  const guard = `${file}.takeover`
  if (!(await create(guard, mine))) {
    if (!(await isYoung(guard, ABANDONED_MS))) await rm(guard, { force: true })
    await sleep(20)
    return false
  }
  try {
    if ((await readFile(file, 'utf8').catch(() => undefined)) !== checked) return false
    await replace(file, mine)
    return true
  } finally {
    await rm(guard, { force: true })
  }
}

async function create(file: string, holder: Holder): Promise<boolean> {
  try {
    await writeFile(file, JSON.stringify(holder), { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function replace(file: string, holder: Holder): Promise<void> {
  const half = `${file}.${holder.id}`
  await writeFile(half, JSON.stringify(holder), { mode: 0o600 })
  await rename(half, file)
}

async function isYoung(file: string, ms: number): Promise<boolean> {
  const found = await stat(file).catch(() => undefined)
  return found !== undefined && Date.now() - found.mtimeMs < ms
}

/** Any answer counts, and so does a time-out: a busy service can be slow. */
async function answers(url: string): Promise<boolean> {
  return fetch(new URL('/healthz', url), { signal: AbortSignal.timeout(2000) }).then(
    () => true,
    (error) => error.name === 'TimeoutError',
  )
}

/**
 * Fields 3 and 22 of proc(5) stat: the state of a process, and the clock ticks from boot to its start. Undefined without
 * /proc.
 */
function statOf(pid: number): { state: string | undefined; born: string | undefined } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0], born: fields[19] }
  } catch {
    return undefined
  }
}

function parse(text: string): Partial<Holder> {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
