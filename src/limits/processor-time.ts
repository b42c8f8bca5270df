/** What a thread has used so far, in ms. */
interface ThreadUse {
  now: number
  /** of which its event loop was not idle */
  active: number
  /** of which it had a processor */
  cpu: number
}

/** Real time, and the time for which this thread had a processor, in ms since any moment. */
export interface Clocks {
  now(): number
  processor(): number
}

const sampleMs = 50
const enoughMs = 20
const lowestRate = 0.1

/**
 * A clock of processor time. Limits of work count by it, so that a loaded machine does not refuse what is only slow there.
 * The system tells the time of a thread in steps of some ms, longer than a decision takes. So the clock goes at the rate at
 * which the thread had a processor while it lately worked for 50 ms, but never slower than a tenth.
 */
export function processorClock(use: () => ThreadUse, now: () => number): () => number {
  let last = use()
  let rate = 1
  let at = last.now
  let clock = 0
  return () => {
    const moment = now()
    clock += (moment - at) * rate
    at = moment
    if (moment - last.now < sampleMs) return clock
    const found = use()
    const active = found.active - last.active
    if (active >= enoughMs) {
      rate = Math.min(1, Math.max(lowestRate, (found.cpu - last.cpu) / active))
      last = found
    }
    return clock
  }
}

const now = () => performance.now()

function useOfThread(): ThreadUse {
  const { user, system } = process.threadCpuUsage()
  return { now: now(), active: performance.eventLoopUtilization().active, cpu: (user + system) / 1000 }
}

/** The clocks of this thread. */
export const threadClocks: Clocks = { now, processor: processorClock(useOfThread, now) }
