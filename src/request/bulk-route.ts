import type { ZodObject, ZodType, z } from 'zod'
import type { Tx } from '../database/executor/transaction.ts'
import type { ApiError } from '../errors.ts'
import type { ActionName } from '../policy-engine/catalogue/actions.ts'
import type { Caller } from './caller.ts'
import {
  type Answered,
  type AnyInput,
  type Common,
  defaults,
  type ResourceOf,
  type Route,
  type RouteInput,
  type TenantScope,
} from './route.ts'

/** What the path gives a change of many objects. */
export interface ItemDecisions {
  /**
   * Decides the route's action on one object, as a request about it alone would. `refusal` is null where it is permitted.
   * The decision is logged with the change. It yields to the event loop when due.
   */
  decide(resource: ResourceOf): Promise<ItemPermit>
  /** Yields to the event loop when due. Await it between parts of long work. */
  pace(): Promise<void>
}

/** `decisionId` belongs into the audit row of the item. */
export interface ItemPermit {
  decisionId: string
  refusal: ApiError | null
}

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

/** The functions of such a route without the types of its body, query and items. */
export interface ChangingMany {
  kind: 'bulk'
  maxBody: number
  items(input: AnyInput, pace: () => Promise<void>): Promise<unknown>
  changeAll(tx: Tx, input: AnyInput, items: unknown, decisions: ItemDecisions): Promise<unknown>
}

/** A route that changes many objects, each decided by itself. */
export function bulkRoute<B extends ZodType, Q extends ZodObject, R extends ZodType, P>(
  spec: BulkSpec<B, Q, R, P>,
): Route {
  return { ...defaults, kind: 'bulk', ...spec } as unknown as Route
}
