import { parentPort } from 'node:worker_threads'
import { lowerThreadPriority } from '../../policy-engine/sandbox/thread-priority.ts'
import { readMetadata } from './metadata.ts'
import { type Refusal, RefusedError } from './refusal.ts'
import { signInUrl } from './service-provider.ts'
import { verifyResponse } from './verify-response.ts'

// A thread that reads and writes the XML of SAML: see ask-saml-thread.ts.

const tasks = { verifyResponse, readMetadata, signInUrl }

export type Tasks = typeof tasks
export type ToSamlThread = {
  [Name in keyof Tasks]: { task: Name; with: Parameters<Tasks[Name]> }
}[keyof Tasks]
export type FromSamlThread<T> = { done: T } | { refused: Refusal }

async function answer({ task, with: values }: ToSamlThread): Promise<FromSamlThread<unknown>> {
  try {
    const run = tasks[task] as (...values: unknown[]) => unknown
    return { done: await run(...values) }
  } catch (error) {
    if (error instanceof RefusedError) return { refused: error.refusal }
    throw error
  }
}

lowerThreadPriority()
parentPort!.on('message', async (message: ToSamlThread) => parentPort!.postMessage(await answer(message)))
