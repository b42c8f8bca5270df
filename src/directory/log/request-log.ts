import type { Context } from 'koa'
import type { Logger } from 'pino'
import { writeAsSystem } from '../../database/executor/batch.ts'
import type { Databases } from '../../database/executor/transaction.ts'
import { sumPerMinute } from '../../limits/sum-per-minute.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import { outsideSpans } from '../../observe/tracing/span.ts'
import { entryInserts, type NewEntry } from './store.ts'

/** Writes what directories asked, and what they were answered. */
export interface RequestLog {
  /** Notes an answered request, if its credential named a tenant. */
  note(http: Context): void
  /** Waits until what was noted is written. Never rejects. */
  flush(): Promise<void>
}

const minute = 60_000
const maxAtOnce = 128
const maxWaiting = 10_000
const maxRefusals = 10_000

/**
 * Creates the log of this process. Requests do not wait for it: what arrives during a write shares the next one. Refusals of
 * credentials, which no limit counts, have one entry a minute for each tenant and status. What cannot be written is lost, which the
 * log of the process says.
 */
export function requestLog(db: Pick<Databases, 'system'>, log: Logger, clock: () => number): RequestLog {
  const waiting: NewEntry[] = []
  let writing: Promise<void> | null = null
  let refused = new Map<string, number>()
  const drop = sumPerMinute<{ entries: number }>((tenant_id, sums) =>
    log.warn({ tenant_id, ...sums }, 'requests of a directory are not in its log'),
  )
  const isRepeated = (key: string, at: number) => {
    if (at - (refused.get(key) ?? Number.NEGATIVE_INFINITY) < minute) return true
    if (refused.size >= maxRefusals) refused = new Map()
    refused.set(key, at)
    return false
  }
  const write = async (entries: NewEntry[]) => {
    try {
      await writeAsSystem(db, 'requests of directories of many tenants share a transaction', (together) =>
        Promise.all(entryInserts(entries).map((insert) => together.query(insert))),
      )
    } catch (err) {
      log.error({ err, entries: entries.length }, 'the log of directories could not be written')
    }
  }
  const drain = async () => {
    while (waiting.length > 0) await write(waiting.splice(0, maxAtOnce))
    writing = null
  }
  return {
    note(http) {
      const { tenantId, decisionId, requestInfo, error } = http.state
      if (!tenantId) return
      const [at, status] = [clock(), http.status]
      if (!decisionId && isRepeated(`${tenantId} ${status}`, at)) return
      if (waiting.length >= maxWaiting) return drop(tenantId, { entries: 1 }, at)
      waiting.push({
        tenant_id: tenantId,
        id: timeOrderedId(at),
        at,
        method: http.method.slice(0, 20),
        path: withoutAddresses(http.path).slice(0, 200),
        status,
        detail: error ? withoutAddresses(error.message).slice(0, 500) : null,
        request_id: requestInfo.requestId,
      })
      writing ??= outsideSpans(drain)
    },
    flush: async () => {
      while (writing) await writing
    },
  }
}

/** Paths and errors can repeat what a directory sent. */
const withoutAddresses = (text: string) =>
  text.replace(/[^\s/"'<>(),]+/g, (word) => (/@|%40/.test(word) ? '…@…' : word))
