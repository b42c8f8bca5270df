import { unavailable } from '../errors.ts'
import { type Clocks, threadClocks } from './processor-time.ts'
import { withoutSlot } from './tenant-slot.ts'
import { type TimeShare, type TimeUsed, timeUsed } from './time-used.ts'
import { createWorkTurns, type WorkTurns } from './work-turns.ts'

/** For whom a piece of work is done: the person (or service account) and the tenant. Null for the installation itself. */
export type WorkFor = { userId: string; tenantId: string } | null

/**
 * What the decisions of a process may take: `ms` of each second for a tenant, and for a person over all their tenants; the
 * process leaves a fifth of its time to all else. Decisions are synchronous, so they have no turns.
 */
export const decisionShare = (ms: number): TimeShare => ({
  windowMs: 1_000,
  person: ms,
  tenant: ms,
  process: Math.max(ms, 800),
})

/** What one kind of work may take, in ms a window: of processor time, or of the real time for which it keeps others waiting. */
interface WorkLimit extends TimeShare {
  /** Pieces that run at a time in this process; the others wait for their turn. */
  atATime: number
  /** The same of one person, and of one tenant. */
  ofOne: number
  /** Pieces of one person that wait. */
  maxWaiting: number
  maxWaitMs: number
  counts: keyof Clocks
  /** What to do about it, for the error. */
  advice: string
}

const minute = 60_000
const oneThread = { atATime: 1, ofOne: 1, maxWaiting: 5, maxWaitMs: 20_000, counts: 'processor' } as const
const ofDatabase = { atATime: 3, ofOne: 1, counts: 'now' } as const

/**
 * What costly work may take: of a person over all their tenants, of a tenant (one person three quarters of it), and of the
 * process.
 */
export const workLimits = {
  /** Measuring patterns of conditions, in a thread. */
  patterns: {
    ...oneThread,
    ...{ windowMs: minute, person: 15_000, tenant: 15_000, process: 45_000 },
    advice: 'Measuring patterns took too long. Write simpler patterns.',
  },
  /** Compiling Rego modules, in processes of their own. */
  modules: {
    ...oneThread,
    ...{ windowMs: minute, person: 20_000, tenant: 20_000, process: 50_000, maxWaitMs: 30_000 },
    advice: 'Compiling modules took too long. Write simpler modules.',
  },
  /** Measuring policies together and deciding recorded decisions again, in a thread. */
  trials: {
    ...oneThread,
    ...{ windowMs: minute, person: 20_000, tenant: 20_000, process: 50_000, maxWaiting: 10 },
    advice: 'Trying and writing policies took too long. Try less often, or use fewer or smaller policies.',
  },
  /** Reads of the database that look at many rows. */
  reads: {
    ...{ windowMs: minute, person: 20_000, tenant: 20_000, process: 90_000 },
    ...{ ...ofDatabase, maxWaiting: 20, maxWaitMs: 5_000 },
    advice: 'Reading this took too long. Ask less often, or for less at a time.',
  },
  /** Deciding all permissions of a member, on the event loop. */
  permissions: {
    ...{ windowMs: minute, person: 15_000, tenant: 20_000, process: 45_000 },
    ...{ atATime: 2, ofOne: 1, maxWaiting: 5, maxWaitMs: 5_000, counts: 'processor' as const },
    advice: 'Deciding all permissions took too long. Ask less often, or use fewer or smaller policies.',
  },
  /** Changing many objects in one call: others of the tenant wait for its lock. */
  changes: {
    ...{ windowMs: minute, person: 40_000, tenant: 40_000, process: 90_000 },
    ...{ ...ofDatabase, maxWaiting: 5, maxWaitMs: 5_000 },
    advice: 'Changing many objects took too long. Send fewer at a time, or wait.',
  },
  /** Looking for the words of questions in all roles of a tenant. Short, so that no answer waits behind longer reads. */
  words: {
    ...{ windowMs: minute, person: 20_000, tenant: 20_000, process: 60_000 },
    ...{ ...ofDatabase, maxWaiting: 20, maxWaitMs: 1_000 },
    advice: 'Looking up names took too long. Ask about fewer names that nothing knows.',
  },
} satisfies Record<string, WorkLimit>

export type WorkKind = keyof typeof workLimits

/** The budget of all costly work of a process. */
export interface WorkBudget {
  /**
   * Does the work when it is its turn, and counts its time. Of those who wait, the person who took the least time in this
   * window is next. Throws 503 `too_costly` for a budget that is used up, and `overloaded` when too much waits, or too long:
   * without `waits`, if it is not its turn now.
   */
  inTurn<T>(kind: WorkKind, by: WorkFor, work: () => Promise<T>, options?: { waits: boolean }): Promise<T>
}

/** Makes a budget. */
export function createWorkBudget(
  limits: Record<WorkKind, WorkLimit> = workLimits,
  clocks: Clocks = threadClocks,
): WorkBudget {
  const kinds = new Map<string, { used: TimeUsed; turns: WorkTurns }>()
  for (const [kind, limit] of Object.entries(limits)) {
    const used = timeUsed(limit, clocks.now)
    kinds.set(kind, { used, turns: createWorkTurns(limit, used.ofPerson) })
  }
  return {
    async inTurn(kind, by, work, options) {
      const { used, turns } = kinds.get(kind)!
      const assertLeft = () => {
        const waitMs = by && used.msUntilLeft(by)
        if (waitMs) throw usedUp(limits[kind].advice, waitMs)
      }
      assertLeft()
      const counted = async () => {
        assertLeft() // Others of the same person ran while it waited.
        const time = clocks[limits[kind].counts]
        const begun = time()
        try {
          return await work()
        } finally {
          if (by) used.add(by, time() - begun)
        }
      }
      return withoutSlot(() => turns(by, counted, options))
    },
  }
}

const usedUp = (advice: string, waitMs: number) =>
  unavailable('too_costly', advice, Math.max(1, Math.ceil(waitMs / 1000)))

/** The budget of this process: one event loop, one set of threads. */
export const workBudget = createWorkBudget()
