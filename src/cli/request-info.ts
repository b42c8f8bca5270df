import { randomUUID } from 'node:crypto'
import type { RequestInfo } from '../platform/http/request-info.ts'

/** What audit log and events say of a deed of the command line. */
export const originOf = (command: string): RequestInfo => ({
  requestId: `cli-${randomUUID()}`,
  ip: '',
  userAgent: `cli ${command}`,
  traceparent: null,
})
