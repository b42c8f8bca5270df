import { createMetrics } from '../src/platform/metrics/metrics.ts'
import { actionNames } from '../src/policy-engine/catalogue/actions.ts'

// What counting adds to a request, by itself: node bench/metrics.ts [requests]
// A decided read asks the engine once and reads the database twice; everything it counts is counted here. The last
// figure is a scrape of every action.

const requests = Number(process.argv[2] ?? 500_000)
const metrics = createMetrics('bench')

function countOne(n: number) {
  const action = actionNames[n % actionNames.length]!
  const begun = performance.now()
  metrics.requestBegan()
  metrics.connectionWaited('api_reads', 0.000_1)
  metrics.policiesFound(true)
  metrics.evaluated(0.000_02)
  metrics.decided(action, 'allow')
  metrics.connectionWaited('api_reads', 0.000_1)
  metrics.requestEnded(action, n % 10 === 0 ? 403 : 200, (performance.now() - begun) / 1_000)
}

// By the time of the processor, for others may be using it, too.
const rounds = Array.from({ length: 5 }, () => {
  const before = process.cpuUsage()
  for (let n = 0; n < requests; n++) countOne(n)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / requests
})
const begun = performance.now()
const text = await metrics.scrape()
const scrape = performance.now() - begun
console.log(`counting: ${rounds.map((us) => us.toFixed(2)).join(', ')} µs a request`)
console.log(`scrape: ${scrape.toFixed(1)} ms, ${(text.length / 1024).toFixed(0)} KiB`)
