import { z } from 'zod'
import { rfc3339, timestamp } from '../../platform/http/schemas.ts'
import { deviceTypes } from './channels.ts'
import type { DeviceRow } from './store.ts'

/** A device as its owner sees it: never a secret, never a code. */
export const deviceSchema = z
  .object({
    id: z.uuid(),
    type: z.enum(deviceTypes),
    name: z.string(),
    is_confirmed: z.boolean(),
    created_at: timestamp,
    last_used_at: timestamp.nullable(),
    remaining_codes: z.int().nullable().meta({ description: 'Of recovery codes; else null' }),
  })
  .meta({ id: 'OtpDevice' })

export const showDevice = (row: DeviceRow) => ({
  id: row.id,
  type: row.type,
  name: row.name,
  is_confirmed: row.confirmed_at !== null,
  created_at: rfc3339(row.created_at),
  last_used_at: row.last_used_at === null ? null : rfc3339(row.last_used_at),
  remaining_codes: row.remaining_codes,
})
