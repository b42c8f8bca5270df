import { parentPort, workerData } from 'node:worker_threads'
import type { Bundle } from '../../policy-engine/evaluate/bundle.ts'
import { engineOf } from '../../policy-engine/evaluate/engine.ts'
import { type Replay, replayDecisions } from './replay.ts'

// A thread for one large preview: see preview-policy.ts.
const { bundle, ...replay } = workerData as Replay & { bundle: Bundle }
const { trials } = engineOf(bundle)
if (replay.policies.some(({ wasm }) => wasm)) await trials.warmModules()
parentPort?.postMessage(await replayDecisions(replay, trials))
