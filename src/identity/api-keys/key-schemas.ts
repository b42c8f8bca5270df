import { z } from 'zod'
import { written } from '../../request/body/known-members.ts'
import { rfc3339, timestamp } from '../../request/body/schemas.ts'
import { warningsSchema } from '../../request/warnings.ts'
import { permission, permissionForm } from '../../tenancy/roles/permissions.ts'
import { nameOf } from '../../tenancy/service-accounts/account-schemas.ts'
import { repeatedPassword } from '../otp/bodies.ts'
import { prefixOf } from './key-text.ts'
import type { KeyRow } from './store.ts'

const day = 86_400

export const keySchema = z
  .object({
    id: z.uuid(),
    name: z.string(),
    prefix: z.string().meta({
      description: 'The beginning of the key. It is no secret',
      example: 'bwk_0000IuWa4Nu3dF8iVbGnYd',
    }),
    scopes: z
      .array(z.string())
      .nullable()
      .meta({ description: 'The permissions that it is limited to; null: all of its holder' }),
    created_at: timestamp,
    expires_at: timestamp,
    last_used_at: timestamp.nullable().meta({ description: 'To the minute' }),
    successor_id: z.uuid().nullable().meta({ description: 'The key that replaces it' }),
  })
  .meta({ id: 'ApiKey' })

export const newKeySchema = keySchema.extend({
  warnings: warningsSchema,
  key: z.string().meta({ description: 'The key, which is not shown again' }),
})

export const showKey = (row: KeyRow) => ({
  id: row.id,
  name: row.name,
  prefix: prefixOf(row.id),
  scopes: row.scopes,
  created_at: rfc3339(row.created_at),
  expires_at: rfc3339(row.expires_at),
  last_used_at: row.last_used_at === null ? null : rfc3339(row.last_used_at),
  successor_id: row.successor_id,
})

/** A key as a resource in policies: the person's own, or without an owner for a service account. */
export const keyResource = (row: KeyRow) => ({
  type: 'api_key',
  id: row.id,
  ownerId: row.user_id,
  fields: showKey(row),
})

const scopes = z
  .array(permission, 'Give scopes as a list of resource:verb.')
  .min(1, 'Name at least one permission, or leave scopes out for all of the holder.')
  .max(100, 'A key can have at most 100 scopes.')
  .transform((list) => [...new Set(list)])

const newKeyBody = z.object({
  name: nameOf('key'),
  expires_in: z
    .int('Give expires_in as a whole number of seconds.')
    .min(1, 'A key is valid for at least a second.')
    .max(365 * day, 'A key is valid for at most 31,536,000 seconds, which are 365 days.')
    .default(90 * day)
    .meta({ description: 'Seconds' }),
  scopes: scopes
    .nullable()
    .default(null)
    .meta({
      description:
        'Limits the key to these permissions, `resource:verb` or `resource:*`; null: all of its holder',
      override: {
        type: ['array', 'null'],
        items: { type: 'string', pattern: permissionForm.source },
        minItems: 1,
        maxItems: 100,
        example: ['document:read'],
      },
    }),
  current_password: repeatedPassword,
})

// `expires_at` cannot be sent back: a key would be valid for longer than it says.
export const newKey = written(newKeyBody, { shownAs: keySchema.omit({ expires_at: true }) })

export type NewKeyBody = z.output<typeof newKey>

const rotationBody = z.object({
  overlap: z
    .int('Give overlap as a whole number of seconds.')
    .min(0, 'An overlap is 0 or more seconds.')
    .max(day, 'An overlap is at most 86,400 seconds, which is a day.')
    .default(3_600)
    .meta({ description: 'Seconds for which the old key works too' }),
  current_password: repeatedPassword,
})

// Nothing of the key can be sent: the new one has the scopes and the lifetime of the old one.
export const rotation = written(rotationBody, { shownAs: z.object({}) })
