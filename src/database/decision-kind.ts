import { sql } from 'slonik'
import { serviceResources } from '../policy-engine/catalogue/actions.ts'

/**
 * `request`: something was done or refused, or an application asked before it does something. `question`: a person asked what
 * another may do. `preview`: a person asked what this service would let them do.
 */
export const decisionKinds = ['request', 'question', 'preview'] as const
export type DecisionKind = (typeof decisionKinds)[number]

// Before 0.3 rows had no kind. The console then asked about objects of the service without an id, as `any` or `new`.
const wasQuestion = sql.fragment`
  resource_id in ('any', 'new') and resource_type = any(${sql.array([...serviceResources], 'text')})`

/** The kind of a row. */
export const kindOfRow = sql.fragment`coalesce(kind, case when ${wasQuestion} then 'question' else 'request' end)`

/** The condition for each value of the filter. */
export const ofKind = {
  // Of an expression the planner knows no statistics: it would read and sort all that it takes for few.
  request: sql.fragment`(kind = 'request' or kind is null and (${wasQuestion}) is not true)`,
  // In words of their index.
  question: sql.fragment`(kind = 'question' or kind is null and ${wasQuestion})`,
  preview: sql.fragment`kind = 'preview'`,
  all: sql.fragment`true`,
} as const
