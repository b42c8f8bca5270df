import { readFileSync, readlinkSync } from 'node:fs'

/** The id of this thread in Linux; 0 where the system does not tell it. */
export function threadIdOf(link = '/proc/thread-self'): number {
  try {
    return Number(readlinkSync(link).split('/').at(-1)) || 0
  } catch {
    // Another system, or a container without /proc: then the deadline is one of time, not of CPU time.
    return 0
  }
}

/** The CPU time in ms of a thread of this process; not a number where the system does not tell it. */
export function cpuMsOf(threadId: number): number {
  try {
    const [ns] = readFileSync(`/proc/self/task/${threadId}/schedstat`, 'utf8').split(' ')
    return Number(ns) / 1_000_000
  } catch {
    return Number.NaN
  }
}
