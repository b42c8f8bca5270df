import type { Decision } from '../access/decision.ts'
import type { Standing } from './actor.ts'
import { carryOut } from './obligations.ts'

/**
 * The rows of a list that a caller may see, as they may see them. This is the one loop that decides rows: a row that is
 * not permitted, or asks for more than the session has, is left out. `now` in ms.
 */
export function visibleRows(
  rows: readonly unknown[],
  decide: (row: unknown) => Decision,
  session: Standing['session'],
  now: number,
): unknown[] {
  return rows.flatMap((row) => {
    const decision = decide(row)
    if (decision.effect !== 'allow') return []
    const carried = carryOut(decision, session, now, row)
    return 'due' in carried ? [] : [carried.shown]
  })
}
