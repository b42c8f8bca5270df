import { z } from 'zod'
import { client } from './client-name.ts'
import { name } from './free-text.ts'
import { moment, notice } from './template.ts'

// Mails that an earlier release queued have only `firstName`.
const waysIn = {
  firstName: name,
  keysRevoked: z.boolean().default(false),
  passkeys: z.int().default(0),
  keys: z.int().default(0),
}

/** Mails about passwords and sessions. */
export const sessionTemplates = {
  password_changed: notice(waysIn),
  sessions_ended: notice(waysIn),
  new_sign_in: notice({ ip: z.string(), device: client, at: moment }),
}
