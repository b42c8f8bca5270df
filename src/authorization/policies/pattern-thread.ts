import { parentPort, workerData } from 'node:worker_threads'
import { maxPatternUs, patternCost } from '../../policy-engine/compile/pattern-cost.ts'

// A worker thread that measures patterns: see measure-patterns.ts. It stops after the first pattern that is too
// expensive, because measuring such patterns is itself expensive.
const costUs = patternCost()
const measured: [string, number | undefined][] = []
for (const pattern of workerData as string[]) {
  const cost = costUs(pattern)
  measured.push([pattern, cost])
  if (cost !== undefined && cost > maxPatternUs) break
}
parentPort?.postMessage(measured)
