import type { Decision } from '../../policy-engine/evaluate/decision.ts'
import type { DecisionPace } from '../decision-budget.ts'
import type { ApiError } from '../errors.ts'
import type { AuthContext } from './caller.ts'
import { carryOut, maskedFields } from './obligations.ts'

/** How one caller sees the rows of the list that they ask for. */
export interface RowView {
  /** A policy may withhold rows, so nobody learns how many there are. */
  readonly selective: boolean
  /** Paths of the fields that are masked for the caller, in all rows or in some. */
  readonly masked: readonly string[]
  /** Each row as it may be seen, or null where it is withheld. */
  visible(rows: readonly unknown[]): Promise<(Visible | null)[]>
  /** 403 for a query parameter that would tell what a masked field holds. */
  refuse(parameter: string): ApiError
}

export interface Visible {
  shown: unknown
}

/**
 * The view that a decision about a list gives of its rows: as it stands, or by `decideRow`, at the pace of the request,
 * where each row has to be decided. `now` in ms.
 */
export function rowView(
  decision: Decision,
  { decideRow, pace }: RowDecisions,
  refuse: RowView['refuse'],
  session: AuthContext['session'],
  now: number,
): RowView {
  const paced = async (row: unknown) => {
    await pace.next()
    return decideRow(row)
  }
  return {
    selective: decision.provisional,
    masked: maskedFields(decision.obligations),
    visible: (rows) => visibleRows(rows, decision.provisional ? paced : async () => decision, session, now),
    refuse,
  }
}

interface RowDecisions {
  decideRow: (row: unknown) => Decision
  pace: DecisionPace
}

/**
 * Each row of a list as a caller may see it. This is the one loop that decides rows: a row that is not permitted, or asks
 * for more than the session has, is null. `now` in ms.
 */
async function visibleRows(
  rows: readonly unknown[],
  decide: (row: unknown) => Promise<Decision>,
  session: AuthContext['session'],
  now: number,
): Promise<(Visible | null)[]> {
  const visible: (Visible | null)[] = []
  for (const row of rows) {
    const decision = await decide(row)
    const carried = decision.effect === 'allow' && carryOut(decision, session, now, row)
    visible.push(carried && 'shown' in carried ? carried : null)
  }
  return visible
}
