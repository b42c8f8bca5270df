import { defineCommand } from '../command.ts'
import { reseal } from '../keys.ts'
import { withDatabase } from '../with-database.ts'

const roles = ['system', 'worker'] as const

export const keysReseal = defineCommand({
  name: 'keys:reseal',
  about:
    'Seal anew by the first of SECRET_KEYS what the others sealed; keyed hashes (refresh tokens, recovery codes) need the old key until they are renewed',
  options: {},
  example: '',
  failure: 'it failed, or something is sealed by a key that SECRET_KEYS does not have',
  roles,
  run: ({ config }) => withDatabase(config, roles, reseal),
})
