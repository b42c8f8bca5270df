import { parentPort, workerData } from 'node:worker_threads'
import { lowerThreadPriority } from '../../platform/thread-priority.ts'
import type { Bundle } from '../../policy-engine/evaluate/bundle.ts'
import { engineOf } from '../../policy-engine/evaluate/engine.ts'
import { type Replay, replayDecisions } from './replay.ts'

// A thread for large previews, one after the other: see preview-policy.ts.
lowerThreadPriority()
const { trials } = engineOf(workerData as Bundle)
parentPort?.on('message', async (replay: Replay) => {
  if (replay.policies.some(({ wasm }) => wasm)) await trials.warmModules()
  parentPort?.postMessage(await replayDecisions(replay, trials))
})
