import { parentPort, workerData } from 'node:worker_threads'
import { openAccessEngine } from '../../policy-engine/evaluate/engine.ts'
import { type Replay, replayDecisions } from './replay.ts'

// A thread for one large preview: see preview-policy.ts.
parentPort?.postMessage(await replayDecisions(workerData as Replay, await openAccessEngine()))
