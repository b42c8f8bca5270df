import { readdirSync, readFileSync } from 'node:fs'
import { setPriority } from 'node:os'

const behind = 5
const threads = '/proc/self/task'

/**
 * Lets the threads of libuv's pool, where passwords are hashed, run behind the event loop and Postgres: all cores may
 * hash, and whoever else asks is still answered. Needs no privilege; on Linux only, elsewhere nothing happens. To be
 * called once the pool runs. Gives how many threads it found.
 */
export function runWorkersBehind(): number {
  if (process.platform !== 'linux') return 0
  const workers = readdirSync(threads).filter((id) => nameOf(id).startsWith('libuv-worker'))
  // Linux knows a nice value per thread: setpriority(2), notes.
  for (const id of workers) setPriority(Number(id), behind)
  return workers.length
}

function nameOf(thread: string): string {
  try {
    return readFileSync(`${threads}/${thread}/comm`, 'utf8')
  } catch {
    return '' // ended meanwhile
  }
}
