import { getEnvironmentData, parentPort, workerData } from 'node:worker_threads'
import { openExchange } from '../../src/policy-engine/sandbox/thread-exchange.ts'

// A thread of modules. The first one is ready, and then ends by itself.
const started = new Int32Array(getEnvironmentData('threads started') as SharedArrayBuffer)
if (Atomics.add(started, 0, 1) > 0) await import('../../src/policy-engine/sandbox/module-thread.ts')
else {
  openExchange((workerData as { shared: SharedArrayBuffer }).shared).ready(0)
  parentPort?.postMessage('ready')
}
