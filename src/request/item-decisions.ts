import type { ApiError } from '../errors.ts'
import type { ResourceOf } from './caller.ts'

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
