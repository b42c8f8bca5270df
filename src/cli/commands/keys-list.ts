import { listSigningKeys } from '../../identity/keys/list-keys.ts'
import { rfc3339 } from '../../platform/http/schemas.ts'
import { inColumns } from '../columns.ts'
import { defineCommand, Refused } from '../command.ts'
import { withPools } from '../with-database.ts'

const roles = ['system'] as const
const headings = ['kid', 'algorithm', 'state', 'created_at', 'signs_from', 'verifies_until']

export const keysList = defineCommand({
  name: 'keys:list',
  about: 'List the keys that sign and verify tokens, newest first',
  options: {},
  example: '',
  failure: 'it failed, or the keys are those of JWT_PRIVATE_KEYS',
  roles,
  run: ({ config }) =>
    withPools(config, roles, async (db) => {
      if (config.JWT_PRIVATE_KEYS)
        throw new Refused(
          'configuration',
          'The keys are those of JWT_PRIVATE_KEYS: see /.well-known/jwks.json.',
        )
      const keys = (await listSigningKeys({ db, clock: Date.now })).map((key) => ({
        kid: key.kid,
        algorithm: key.algorithm,
        state: key.state,
        created_at: rfc3339(key.createdAt),
        signs_from: rfc3339(key.signsFrom),
        verifies_until: key.verifiesUntil === null ? null : rfc3339(key.verifiesUntil),
      }))
      const rows = keys.map((key) => Object.values(key).map((value) => value ?? ''))
      return { data: { keys }, text: inColumns(headings, rows) }
    }),
})
