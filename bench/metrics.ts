import { createMetrics } from '../src/observe/metrics/metrics.ts'
import { actionNames } from '../src/policy-engine/catalogue/actions.ts'

// Measures the cost of metrics per request: node bench/metrics.ts [requests]
// It counts all that a read with a decision counts: one call of the engine and two reads of the database. The last
// figure is a scrape with series for every action.

const requests = Number(process.argv[2] ?? 500_000)
const metrics = createMetrics('bench')

function countOne(n: number) {
  const action = actionNames[n % actionNames.length]!
  const started = performance.now()
  metrics.requestBegan()
  metrics.connectionWaited('api_reads', 0.000_1)
  metrics.policiesFound(true)
  metrics.evaluated(0.000_02)
  metrics.decided(action, 'allow')
  metrics.connectionWaited('api_reads', 0.000_1)
  metrics.requestEnded(action, n % 10 === 0 ? 403 : 200, (performance.now() - started) / 1_000)
}

// CPU time, because other processes can use the machine too.
const rounds = Array.from({ length: 5 }, () => {
  const before = process.cpuUsage()
  for (let n = 0; n < requests; n++) countOne(n)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / requests
})
const started = performance.now()
const text = await metrics.scrape()
const scrape = performance.now() - started
console.log(`counting: ${rounds.map((us) => us.toFixed(2)).join(', ')} µs a request`)
console.log(`scrape: ${scrape.toFixed(1)} ms, ${(text.length / 1024).toFixed(0)} KiB`)
