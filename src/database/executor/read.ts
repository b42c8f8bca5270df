import { atOnce } from './batch.ts'
import type { Statements } from './statements.ts'
import type { Databases } from './transaction.ts'
import type { Scope } from './tx.ts'

/** Where reading statements are asked for: a read of one round trip, or a transaction. */
export type Read = Statements

/**
 * As `inTenant`, for a callback that only reads. It asks for all its statements before its first await: they go out in
 * one round trip. A later statement throws.
 */
export const readInTenant = <T>(
  { api }: Pick<Databases, 'api'>,
  { tenantId, userId }: Scope,
  work: (read: Read) => Promise<T>,
): Promise<T> => atOnce(api, { scope: { tenantId, userId }, by: 'read' }, work)

/** The same without a tenant, as the system role. `reason` is for readers of the code; a walk lists the callers. */
export const readAsSystem = <T>(
  { system }: Pick<Databases, 'system'>,
  _reason: string,
  work: (read: Read) => Promise<T>,
): Promise<T> => atOnce(system, { scope: null, by: 'read' }, work)

/** The same for a few rows by their keys: see `Pool.readShared`. */
export const readSharedAsSystem = <T>(
  { system }: Pick<Databases, 'system'>,
  _reason: string,
  work: (read: Read) => Promise<T>,
): Promise<T> => atOnce(system, { scope: null, by: 'readShared' }, work)

/** As readAsSystem, as the worker role. */
export const readAsWorker = <T>(
  { worker }: Pick<Databases, 'worker'>,
  work: (read: Read) => Promise<T>,
): Promise<T> => atOnce(worker, { scope: null, by: 'read' }, work)
