import type { RowToDecide, RowView } from '../request/caller.ts'
import type { Keyset } from './keyset.ts'

// The most rows that are decided for one page. A page that is not full by then continues after the last of them.
const maxExamined = 500

/** A page in reading direction, and the rows at which the links to the pages ahead and behind start. */
export interface FilledPage<T, Counted> {
  results: T[]
  counted: Counted
  ahead: object | undefined
  behind: object | undefined
}

/**
 * Loads rows until it has a full page of visible rows and one more, or the list ends. If withheld rows counted for the
 * links, a caller could learn their content by filtering.
 */
export async function fillPage<Found extends { rows: readonly object[] }, T>(
  view: RowView,
  { size, from }: Keyset,
  load: (from: Keyset['from']) => Promise<Found>,
  show: (row: Found['rows'][number]) => RowToDecide & { row: T },
  positionOf: (row: object) => NonNullable<Keyset['from']>,
): Promise<FilledPage<T, Omit<Found, 'rows'>>> {
  const seen: { row: object; shown: T }[] = []
  let [position, examined] = [from, 0]
  let found: Found
  let last: object | undefined
  do {
    found = await load(position)
    const shown = await view.visible(found.rows.map(show))
    for (const [index, row] of found.rows.entries()) {
      const visible = shown[index]
      if (visible) seen.push({ row, shown: visible.shown as T })
    }
    examined += found.rows.length
    // The query returns one row more than the page when there are further rows.
    last = found.rows.length > size ? found.rows.at(-1) : undefined
    position = last ? positionOf(last) : position
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
