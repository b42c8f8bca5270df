import { z } from 'zod'
import { rfc3339, timestamp } from '../../request/body/schemas.ts'
import { deviceTypes } from './channels.ts'
import type { DeviceRow } from './store.ts'

/** A device as its owner sees it, without secrets and codes. */
export const deviceSchema = z
  .object({
    id: z.uuid(),
    type: z.enum(deviceTypes),
    name: z.string(),
    is_confirmed: z.boolean(),
    created_at: timestamp,
    last_used_at: timestamp.nullable(),
    counts_from: timestamp.nullable().meta({
      description: 'When the device begins to count as a second factor; null once it does',
    }),
    remaining_codes: z
      .int()
      .nullable()
      .meta({ description: 'The number of recovery codes left; null for other devices' }),
  })
  .meta({ id: 'OtpDevice' })

/** The tokens in the answer to a temporary token. */
export const pair = {
  access: z.string().optional().meta({ description: 'With a temporary token: the sign-in is complete' }),
  refresh: z.string().optional(),
}

/** The answer to a second factor that was accepted. */
export const verifiedSchema = z.object({
  verified: z.literal(true),
  device_type: z.enum(deviceTypes),
  device_id: z.uuid(),
  counts_from: timestamp.nullable().meta({ description: 'Null if the factor counted' }),
  ...pair,
})

/** The device at `now`, in ms since 1970. */
export const toJsonDevice = (row: DeviceRow, now: number) => ({
  id: row.id,
  type: row.type,
  name: row.name,
  is_confirmed: row.confirmed_at !== null,
  created_at: rfc3339(row.created_at),
  last_used_at: row.last_used_at === null ? null : rfc3339(row.last_used_at),
  counts_from: row.counts_from !== null && row.counts_from > now ? rfc3339(row.counts_from) : null,
  remaining_codes: row.remaining_codes,
})
