import { randomUUID } from 'node:crypto'
import type { Origin } from '../platform/http/origin.ts'

/** What audit log and events say of a deed of the command line. */
export const originOf = (command: string): Origin => ({
  requestId: `cli-${randomUUID()}`,
  ip: '',
  userAgent: `cli ${command}`,
  traceparent: null,
})
