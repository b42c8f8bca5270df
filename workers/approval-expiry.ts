import { randomUUID } from 'node:crypto'
import { expireRequests } from '../src/authorization/approvals/expire-requests.ts'
import { defineScheduled } from './schedule.ts'

/** Writes down which approval requests have expired, and tells whoever subscribed; nothing waits for it. */
export const approvalExpiry = defineScheduled({
  name: 'approval-expiry',
  queue: 'approval-expiry',
  every: 60_000,
  lockDuration: 60_000,
  run: async ({ db, clock }) => ({ expired: await expireRequests(db, clock(), randomUUID()) }),
})
