import type { Resource } from '../policy-engine/evaluate/query.ts'
import type { Tx } from './db/transaction.ts'

/** An object of the service as decisions see it: whose it is, and its fields as the API answers them. */
export type FoundObject = Pick<Partial<Resource>, 'ownerId' | 'fields'>

/** In which tenant an object is looked for, as whom, and when (ms). */
export interface ObjectScope {
  tenantId: string
  userId: string
  now: number
}

/** Finds an object by its id, a UUID; null where the tenant has none. */
export type FindObject = (tx: Tx, scope: ObjectScope, id: string) => Promise<FoundObject | null>

/** How the objects of the service are found, by their resource type. */
export type ObjectFinders = Readonly<Record<string, FindObject>>
