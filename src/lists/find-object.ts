import type { Read } from '../database/executor/read.ts'
import type { Resource } from '../policy-engine/evaluate/query.ts'

/** An object of the service as decisions see it: its id, its owner, and its fields as the API answers them. */
export type FoundObject = Pick<Partial<Resource>, 'id' | 'ownerId' | 'fields'>

/** The tenant to search, the user who searches, and the time (ms since 1970). */
export interface ObjectScope {
  tenantId: string
  userId: string
  now: number
}

/**
 * Finds an object of the tenant by its id, a UUID, and a person by any name of theirs; null when there is none. It asks
 * for all its statements before its first await.
 */
export type FindObject = (read: Read, scope: ObjectScope, id: string) => Promise<FoundObject | null>

/** Finders by resource type. */
export type ObjectFinders = Readonly<Record<string, FindObject>>
