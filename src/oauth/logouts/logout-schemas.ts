import { z } from 'zod'
import { rfc3339, timestamp } from '../../request/body/schemas.ts'
import { type LogoutRow, logoutStatuses } from './store.ts'

export const logoutSchema = z
  .object({
    id: z.uuid(),
    sid: z.string().meta({ description: 'The session, as the ID tokens of the application name it' }),
    status: z.enum(logoutStatuses),
    attempts: z.int(),
    response_status: z
      .int()
      .nullable()
      .meta({ description: 'What the application answered last; null if it did not' }),
    created_at: timestamp,
    next_attempt_at: timestamp.nullable(),
  })
  .meta({ id: 'OAuthLogout' })

export const showLogout = (row: LogoutRow) => ({
  id: row.id,
  sid: row.sid,
  status: row.status,
  attempts: row.attempts,
  response_status: row.response_status,
  created_at: rfc3339(row.created_at),
  next_attempt_at: row.next_attempt_at === null ? null : rfc3339(row.next_attempt_at),
})
