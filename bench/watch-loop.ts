// Preloaded by an API process (`--import`) that bench/abuse.ts starts. At each message it answers with the longest turn of
// its event loop since the message before, in ms of time and of CPU time. On a busy machine only the second one says what the
// process did.

export interface Turns {
  ms: number
  cpuMs: number
}

const everyMs = 1
const longest: Turns = { ms: 0, cpuMs: 0 }
let at = performance.now()
let cpu = cpuOfThread()

function cpuOfThread(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

// A timer runs once in each turn that takes longer than its interval.
setInterval(() => {
  const [atNow, cpuNow] = [performance.now(), cpuOfThread()]
  longest.ms = Math.max(longest.ms, atNow - at - everyMs)
  longest.cpuMs = Math.max(longest.cpuMs, cpuNow - cpu)
  at = atNow
  cpu = cpuNow
}, everyMs).unref()
process.on('message', () => {
  process.send?.(longest)
  longest.ms = 0
  longest.cpuMs = 0
})
