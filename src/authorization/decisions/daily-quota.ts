import { dayOf } from '../../database/daily-counts.ts'
import type { DecisionRecord } from '../../request/policies-in-force.ts'

// Parts of the limit of a day.
const untilReadsEnd = 0.6
const untilQuestionsEnd = 0.8
const shareOfSubject = 0.1
const sampledOneIn = 100
const maxSubjects = 100_000

/** Whether the sample includes this UUIDv7, by its random last part. */
export const isSampled = (id: string): boolean => Number.parseInt(id.slice(-6), 16) % sampledOneIn === 0

/** Limits the decisions that are kept per tenant and day (UTC). */
interface DailyQuota {
  /** Whether to keep this decision, according to the last count that this process read. */
  admits(record: DecisionRecord): boolean
  /**
   * Replaces the counts of these tenants by those of the database, if the day of `at` (ms since 1970) is not over. Returns
   * what was reached by those that were `added`.
   */
  learn(kept: ReadonlyMap<string, number>, added: ReadonlyMap<string, number>, at: number): Reached[]
}

/** From now on, decisions of a tenant are only sampled: those about questions, or all. */
export interface Reached {
  tenantId: string
  what: 'questions' | 'decisions'
}

/**
 * Creates a quota of `limit` decisions per tenant and day. From 60 % on, allowed reads are not kept. From 80 % on, one in
 * a hundred of the questions of applications and people is kept, and from 100 % on of all others, denials included. The same holds
 * for one subject from a tenth of the limit on, which each process counts, apart for questions about it and for denials
 * of its actions. So neither questions nor one person can use up what the log has for the actions of the others. A process reads the count
 * of all processes when it writes its own decisions, so together they can keep some hundreds more.
 */
export function dailyQuota(limit: number): DailyQuota {
  let today = ''
  let kept = new Map<string, number>()
  let ofSubjects = new Map<string, number>()
  const startDay = (at: number) => {
    const day = dayOf(at)
    if (day <= today) return
    today = day
    kept = new Map()
    ofSubjects = new Map()
  }
  const takesShare = (key: string) => {
    const used = ofSubjects.get(key) ?? 0
    if (used >= limit * shareOfSubject) return false
    if (ofSubjects.size >= maxSubjects) ofSubjects.clear()
    ofSubjects.set(key, used + 1)
    return true
  }
  return {
    admits({ id, query, decision, kind, keep }) {
      startDay(query.now)
      const { id: subjectId, tenantId } = query.subject
      const isQuestion = 'application' in query || kind !== 'request'
      const always = keep === 'always'
      const end = always ? (isQuestion ? untilQuestionsEnd : 1) : untilReadsEnd
      const hasRoom = (kept.get(tenantId) ?? 0) < limit * end
      const isChange = always && !isQuestion && decision.effect === 'allow'
      const isKept = hasRoom && (isChange || takesShare(`${tenantId} ${isQuestion} ${subjectId}`))
      return isKept || (always && isSampled(id))
    },
    learn(counts, added, at) {
      startDay(at)
      // A count that arrives after midnight is of the day before.
      if (dayOf(at) !== today) return []
      for (const [tenantId, used] of counts) kept.set(tenantId, used)
      const marks = { questions: limit * untilQuestionsEnd, decisions: limit } as const
      return [...counts].flatMap(([tenantId, used]) =>
        (['questions', 'decisions'] as const)
          .filter((what) => used >= marks[what] && used - (added.get(tenantId) ?? 0) < marks[what])
          .map((what) => ({ tenantId, what })),
      )
    },
  }
}
