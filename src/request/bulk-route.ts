import type { ZodObject, ZodType, z } from 'zod'
import type { Tx } from '../database/executor/transaction.ts'
import type { ActionName } from '../policy-engine/catalogue/actions.ts'
import type { Caller } from './caller.ts'
import type { ItemDecisions } from './item-decisions.ts'
import {
  type Answered,
  type Common,
  defaults,
  type Route,
  type RouteInput,
  type TenantScope,
} from './route.ts'

/** Changes many objects in one transaction. The route is decided first, then each object by itself. */
export interface BulkSpec<B extends ZodType, Q extends ZodObject, R extends ZodType, P>
  extends Omit<Common<B, Q, R>, 'readAction'> {
  action: ActionName
  scope?: TenantScope
  /** The longest body in bytes. */
  maxBody: number
  /** Reads the items of the body, before the transaction. */
  items(input: RouteInput<z.output<B>, z.output<Q>, Caller>, pace: () => Promise<void>): Promise<P>
  /** Locks, decides and changes the objects. It does SQL only, because it can run again. */
  changeAll(
    tx: Tx,
    input: RouteInput<z.output<B>, z.output<Q>, Caller>,
    items: NoInfer<P>,
    decisions: ItemDecisions,
  ): Promise<Answered<R>>
}

/** A route that changes many objects, each decided by itself. */
export function bulkRoute<B extends ZodType, Q extends ZodObject, R extends ZodType, P>(
  spec: BulkSpec<B, Q, R, P>,
): Route {
  return { ...defaults, kind: 'bulk', ...spec } as unknown as Route
}
