import { monitorEventLoopDelay } from 'node:perf_hooks'

// Preloaded by an API process (`--import`) that bench/abuse.ts starts. At each message it answers with the longest turn of
// its event loop since the message before, in ms.

const everyMs = 1
const delays = monitorEventLoopDelay({ resolution: everyMs })
delays.enable()
process.on('message', () => {
  process.send?.(delays.max / 1_000_000 - everyMs)
  delays.reset()
})
