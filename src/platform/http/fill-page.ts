import type { Keyset } from '../db/keyset.ts'
import type { RowView } from './row-view.ts'

// So many rows are decided for one page. A page that is not full by then leads on from the last of them.
const maxExamined = 500

/** A page in the direction in which it was read, and the rows that the links on from both of its ends begin at. */
export interface FilledPage<T, Counted> {
  results: T[]
  counted: Counted
  ahead: object | undefined
  behind: object | undefined
}

/**
 * Loads rows until a page is full of those that may be seen, and one more is found or the list ends. Links that told
 * whether any row follows, seen or withheld, would tell by a filter what is in the rows that are withheld.
 */
export async function fillPage<Found extends { rows: readonly object[] }, T>(
  view: RowView,
  { size, from }: Keyset,
  load: (from: Keyset['from']) => Promise<Found>,
  show: (row: Found['rows'][number]) => T,
  placeOf: (row: object) => NonNullable<Keyset['from']>,
): Promise<FilledPage<T, Omit<Found, 'rows'>>> {
  const seen: { row: object; shown: T }[] = []
  let [place, examined] = [from, 0]
  let found: Found
  let last: object | undefined
  do {
    found = await load(place)
    const shown = await view.visible(found.rows.map(show))
    for (const [index, row] of found.rows.entries()) {
      const visible = shown[index]
      if (visible) seen.push({ row, shown: visible.shown as T })
    }
    examined += found.rows.length
    // One row more than asked for says that there are others.
    last = found.rows.length > size ? found.rows.at(-1) : undefined
    place = last ? placeOf(last) : place
  } while (last && seen.length <= size && examined < maxExamined)
  const page = seen.slice(0, size)
  const ahead = seen.length > size ? page.at(-1)?.row : last
  const { rows: _rows, ...counted } = found
  return {
    results: page.map(({ shown }) => shown),
    counted,
    ahead,
    behind: from === null ? undefined : (page[0]?.row ?? ahead),
  }
}
