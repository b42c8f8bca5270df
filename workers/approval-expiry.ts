import { randomUUID } from 'node:crypto'
import { expireRequests } from '../src/authorization/approvals/expire-requests.ts'
import { defineScheduled } from './schedule.ts'

/** Marks expired approval requests and records events. Decisions compare the expiry time and do not wait for it. */
export const approvalExpiry = defineScheduled({
  name: 'approval-expiry',
  queue: 'approval-expiry',
  every: 60_000,
  lockDuration: 60_000,
  run: async ({ db, clock }) => ({ expired: await expireRequests(db, clock(), randomUUID()) }),
})
