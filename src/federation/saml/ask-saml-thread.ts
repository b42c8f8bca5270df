import { createKeyedSemaphore } from '../../limits/keyed-semaphore.ts'
import { reusedThread } from '../../policy-engine/sandbox/run-thread.ts'
import type { VerifiedAssertion } from './assertion.ts'
import type { IdentityProviderMetadata } from './metadata.ts'
import type { Refusal } from './refusal.ts'
import type { FromSamlThread, Tasks, ToSamlThread } from './saml-thread.ts'
import type { SignInRequest } from './service-provider.ts'
import type { ExpectedResponse } from './verify-response.ts'

// All XML of SAML is read and written in one thread, which starts with the first of it: the libraries take 20 MB, and a
// document of a stranger must not hold the event loop.

/** What a document said, or why it was refused. */
export type Answer<T> = { done: T } | { refused: Refusal }

// Starting the thread takes up to one second of it.
const maxMs = 3_000
const idleMs = 60_000
const resourceLimits = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 }
const thread = reusedThread(new URL('./saml-thread.ts', import.meta.url), null, idleMs, resourceLimits)
// Of each tenant, one document at a time waits for the thread: many of one tenant hold up no other one.
const inTurnOfTenant = createKeyedSemaphore({ maxConcurrent: 1, maxWaiting: 200, maxWaitMs: 10_000 })
const inTurnOfThread = createKeyedSemaphore({ maxConcurrent: 1, maxWaiting: 1_000, maxWaitMs: 10_000 })

class TooLate extends Error {}
const isTooCostly = (error: unknown) =>
  error instanceof TooLate || (error as { code?: unknown }).code === 'ERR_WORKER_OUT_OF_MEMORY'

/** Throws 503 `overloaded` when too many wait. */
async function ask<Name extends keyof Tasks>(
  tenantId: string,
  task: Name,
  ...values: Parameters<Tasks[Name]>
): Promise<Answer<Awaited<ReturnType<Tasks[Name]>>>> {
  const message = { task, with: values } as ToSamlThread
  try {
    return await inTurnOfTenant(tenantId, () =>
      inTurnOfThread('saml', () =>
        thread<FromSamlThread<Awaited<ReturnType<Tasks[Name]>>>>([message], maxMs, () => new TooLate()),
      ),
    )
  } catch (error) {
    if (!isTooCostly(error)) throw error
    const detail = 'Reading the document took too long, or too much memory.'
    return { refused: { code: 'too_costly', detail } }
  }
}

// `tenantId`: whose document it is.

export const verifyResponse = (
  tenantId: string,
  samlResponse: string,
  expected: ExpectedResponse,
): Promise<Answer<VerifiedAssertion>> => ask(tenantId, 'verifyResponse', samlResponse, expected)

export const readMetadata = (
  tenantId: string,
  xml: string,
  now: number,
): Promise<Answer<IdentityProviderMetadata>> => ask(tenantId, 'readMetadata', xml, now)

/** The URL that takes a browser to the identity provider. */
export async function signInUrl(tenantId: string, request: SignInRequest): Promise<string> {
  const answer = await ask(tenantId, 'signInUrl', request)
  if ('refused' in answer) throw new Error(answer.refused.detail)
  return answer.done
}
