import { readdirSync, readFileSync } from 'node:fs'

const msPerTick = 10 // proc(5): Linux has 100 clock ticks per second

/** CPU time in ms that all threads of a process have used so far. Linux only, elsewhere 0. */
export function cpuOf(pid: number): number {
  const { own } = times(pid)
  return own
}

/** CPU time in ms of a process and its descendants, including children that have ended. */
export function cpuOfTree(pid: number): number {
  const { own, ended } = times(pid)
  return own + ended + childrenOf(pid).reduce((sum, child) => sum + cpuOfTree(child), 0)
}

/** Resident memory of a process in MB. */
export function memoryOf(pid: number): number {
  const [, kilobytes = '0'] = /^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`)) ?? []
  return Number(kilobytes) / 1024
}

/** Fields 14 to 17 of proc(5) stat: user and system time of the process, then of its ended children. */
function times(pid: number): { own: number; ended: number } {
  const fields = fieldsOf(pid)
  const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15).map(Number)
  return { own: (user + system) * msPerTick, ended: (endedUser + endedSystem) * msPerTick }
}

function childrenOf(pid: number): number[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return all.map(Number).filter((child) => Number(fieldsOf(child)[1]) === pid)
}

/** The fields from field 3 (the state) on. The name before it can contain spaces. */
function fieldsOf(pid: number): string[] {
  const text = read(`/proc/${pid}/stat`)
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}

const read = (path: string) => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
