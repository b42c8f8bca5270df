import { readdirSync, readFileSync } from 'node:fs'
import { setPriority } from 'node:os'

const behind = 5
const threads = '/proc/self/task'

/**
 * Lets the threads of libuv's pool, where passwords are hashed, run behind the event loop and Postgres: all cores may
 * hash, and whoever else asks is still answered. Needs no privilege; on Linux only, elsewhere nothing happens. To be
 * called once the pool runs. Gives how many threads it found.
 */
export function runHashThreadsBehind(): number {
  if (process.platform !== 'linux') return 0
  return readdirSync(threads).filter(putBehind).length
}

/** Linux knows a nice value per thread: setpriority(2), notes. */
function putBehind(thread: string): boolean {
  try {
    if (!readFileSync(`${threads}/${thread}/comm`, 'utf8').startsWith('libuv-worker')) return false
    setPriority(Number(thread), behind)
    return true
  } catch {
    return false // ended meanwhile
  }
}
