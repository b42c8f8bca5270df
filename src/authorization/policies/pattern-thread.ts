import { parentPort, workerData } from 'node:worker_threads'
import { patternBudgetUs, patternCost } from '../../policy-engine/compile/pattern-cost.ts'

// A thread that measures patterns: see measure-patterns.ts. After the first one that costs too much it stops, because
// finding that out costs time itself.
const costUs = patternCost()
const measured: [string, number | undefined][] = []
for (const pattern of workerData as string[]) {
  const cost = costUs(pattern)
  measured.push([pattern, cost])
  if (cost !== undefined && cost > patternBudgetUs) break
}
parentPort?.postMessage(measured)
