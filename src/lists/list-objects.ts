import type { Tx } from '../database/executor/transaction.ts'
import type { FoundObject, ObjectScope } from './find-object.ts'
import type { List, ListPage } from './list.ts'

/** An object of the service in a list of all objects of its type. */
export interface ListedObject {
  id: string
  /** Its place in the order of the list, to continue after it. */
  position: ObjectPosition
  object: FoundObject
}

export interface ObjectPosition {
  at: number | string
  id: string
}

/** Lists the objects of a type in the tenant, `size` at most, after a position. */
export type ListObjects = (
  tx: Tx,
  scope: ObjectScope,
  after: ObjectPosition | null,
  size: number,
) => Promise<ListedObject[]>

/** Listers by resource type. */
export type ObjectListers = Readonly<Record<string, ListObjects>>

/**
 * A lister over the rows of a list, in its usual order. `load` gives the rows of a page; `show` an object as decisions
 * see it.
 */
export const lister =
  <Row extends object>(
    list: List,
    load: (tx: Tx, scope: ObjectScope, page: ListPage) => Promise<readonly Row[]>,
    show: (row: Row) => FoundObject & { id: string },
  ): ListObjects =>
  async (tx, scope, after, size) => {
    const page = list.page({}, { size, from: after, backwards: false }, scope)
    const rows = await load(tx, scope, page)
    const textIn = (row: Row, field: string) => Reflect.get(row, field) as string
    return rows.slice(0, size).map((row) => {
      const { id, ...object } = show(row)
      const position = { at: textIn(row, list.orderedBy({}).field), id: textIn(row, list.id.field) }
      return { id, position, object }
    })
  }

/** A lister of at most a few objects, which are listed at once. */
export const listerOfAll =
  (load: (tx: Tx, scope: ObjectScope) => Promise<readonly (FoundObject & { id: string })[]>): ListObjects =>
  async (tx, scope, after) => {
    if (after) return []
    const all = await load(tx, scope)
    return all.map(({ id, ...object }) => ({ id, position: { at: 0, id }, object }))
  }
