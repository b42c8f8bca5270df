import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { moduleInstance, type TenantInstance } from './module-instance.ts'
import { threadIdOf } from './thread-cpu.ts'
import { openExchange, state } from './thread-exchange.ts'

// A thread that evaluates modules of tenants, one at a time: see module-pool.ts. It never returns to its event loop, and
// its owner terminates it when an evaluation takes too long.

/** The module to evaluate next. */
export interface NextModule {
  key: string
  module: object
}

const maxInstances = 32
const instances = new Map<string, TenantInstance>()
const exchange = openExchange((workerData as { shared: SharedArrayBuffer }).shared)

/** The instance of the next module. The least recently used one makes room. */
function nextInstance(): TenantInstance {
  const { key, module } = receiveMessageOnPort(parentPort!)!.message as NextModule
  const instance = instances.get(key) ?? moduleInstance(module)
  instances.delete(key)
  instances.set(key, instance)
  const [oldest] = instances.keys()
  if (instances.size > maxInstances && oldest !== undefined) instances.delete(oldest)
  return instance
}

function evaluateNext(): void {
  let instance: TenantInstance | undefined
  exchange.take()
  try {
    instance = nextInstance()
    exchange.begin()
    exchange.answer(instance.evaluate(exchange.input()))
    if (instance.isLarge()) forget(instance)
  } catch (error) {
    // After a throw the stack pointer of the module is wrong.
    if (instance) forget(instance)
    exchange.answer({ failed: whyOf(error).slice(0, 200) })
  }
}

// The module throws texts, and its host objects.
const whyOf = (error: unknown): string => String((error as { message?: unknown } | null)?.message ?? error)

function forget(instance: TenantInstance): void {
  for (const [key, each] of instances) if (each === instance) instances.delete(key)
}

exchange.ready(threadIdOf())
parentPort!.postMessage('ready')
for (;;) {
  const now = Atomics.load(exchange.control, 0)
  if (now === state.posted) evaluateNext()
  else Atomics.wait(exchange.control, 0, now)
}
