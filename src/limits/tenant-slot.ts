import { AsyncLocalStorage } from 'node:async_hooks'
import type { Outside } from './keyed-semaphore.ts'

const slot = new AsyncLocalStorage<Outside>()

/** Runs a request that holds one of its tenant's slots, which `outside` gives back for a time. */
export const holdingSlot = <T>(outside: Outside, request: () => Promise<T>): Promise<T> =>
  slot.run(outside, request)

/**
 * Does long work of a request without the slot of its tenant. The tenant has few slots, so a person with a handful of such
 * requests would otherwise keep all other members waiting.
 */
export const withoutSlot = <T>(work: () => Promise<T>): Promise<T> => slot.getStore()?.(work) ?? work()
