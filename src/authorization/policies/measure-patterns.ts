import { tooCostly } from '../../limits/decision-time.ts'
import { type WorkFor, workBudget } from '../../limits/work-budget.ts'
import { maxPatternUs, patternFault } from '../../policy-engine/compile/pattern-cost.ts'
import { createLruCache } from '../../policy-engine/lru-cache.ts'
import { runThread } from '../../policy-engine/sandbox/run-thread.ts'
import type { PatternCost } from './compile-body.ts'

const maxMs = 15_000
const maxKept = 10_000
const thread = new URL('./pattern-thread.ts', import.meta.url)
const kept = createLruCache<{ cost: number | undefined }>(maxKept)

/**
 * Measures the patterns in untrusted conditions, in a thread, because one can take 100 ms: one thread at a time.
 * `author` is null for the installation. Returns a function that gives the cost of each pattern in µs; 0 for patterns that
 * were not measured because another one is too expensive. Throws 503 `too_costly` or `overloaded`.
 */
export async function measurePatterns(conditions: unknown, author: WorkFor): Promise<PatternCost> {
  const patterns = [...new Set(patternsIn(conditions))].filter((pattern) => !patternFault(pattern))
  const costs = new Map(patterns.map((pattern) => [pattern, kept.get(pattern)] as const))
  const isExpensive = () => [...costs.values()].some((found) => (found?.cost ?? 0) > maxPatternUs)
  const unknown = isExpensive() ? [] : patterns.filter((pattern) => costs.get(pattern) === undefined)
  const measured =
    unknown.length === 0
      ? []
      : await workBudget.inTurn('patterns', author, () =>
          runThread<[string, number | undefined][]>(thread, unknown, maxMs, () => tooCostly(30)),
        )
  for (const [pattern, cost] of measured) {
    costs.set(pattern, { cost })
    kept.set(pattern, { cost }, 1)
  }
  const stopped = isExpensive()
  return (pattern) => {
    const found = costs.get(pattern)
    if (found) return found.cost
    return stopped ? 0 : Number.POSITIVE_INFINITY
  }
}

// Compiling refuses policies with more patterns or deeper conditions.
const maxPatterns = 64
const maxDepth = 16

function patternsIn(conditions: unknown, depth = 0): string[] {
  if (typeof conditions !== 'object' || conditions === null || depth > maxDepth) return []
  const { operator, value } = conditions as { operator?: unknown; value?: unknown }
  if (operator === 'matches') return typeof value === 'string' ? [value] : []
  return Object.values(conditions)
    .flatMap((member) => patternsIn(member, depth + 1))
    .slice(0, maxPatterns)
}
