import { issueToken } from '../../installation/tokens/application-token.ts'
import { listTokens, revokeToken, type TokenRow } from '../../installation/tokens/store.ts'
import { asSystem } from '../../platform/db/transaction.ts'
import { rfc3339 } from '../../platform/http/schemas.ts'
import { defineCommand, Refused } from '../command.ts'
import { defaulted, id, required, wholeNumber } from '../options.ts'
import { inColumns } from '../printable.ts'
import { withPools } from '../with-database.ts'

const roles = ['system'] as const
const day = 86_400_000

export const appToken = defineCommand({
  name: 'app:token',
  about: 'Issue a token with which an application reads the events of all tenants; printed once',
  options: {
    application: required('<name>', 'The application, as in its manifest'),
    days: defaulted('<n>', 'Days until it expires, up to 3650', wholeNumber(1, 3_650), 365),
  },
  example: '--application logbook --days 90',
  failure: 'failed, or the application has no manifest',
  roles,
  run: ({ config, options: { application, days } }) =>
    withPools(config, roles, async (db) => {
      const issued = await issueToken({ db, clock: Date.now }, { application, validMs: days * day })
      if (!issued)
        throw new Refused(
          'not_found',
          'This application has no manifest. First: npm run cli -- manifest:apply',
        )
      const expires_at = rfc3339(issued.expiresAt)
      return {
        data: { id: issued.id, application, token: issued.token, expires_at },
        text: [
          `Token    ${issued.token}   (shown once)`,
          `Id       ${issued.id}   npm run cli -- app:revoke --id ${issued.id}`,
          `Expires  ${expires_at}`,
        ].join('\n'),
      }
    }),
})

export const appTokens = defineCommand({
  name: 'app:tokens',
  about: 'List the tokens of applications, newest first',
  options: {},
  example: '',
  roles,
  run: ({ config }) =>
    withPools(config, roles, async (db) => {
      const rows = await asSystem(db, 'applications belong to no tenant', listTokens)
      const tokens = rows.map((row) => shown(row, Date.now()))
      return { data: { tokens }, text: inColumns(headings, tokens.map(Object.values)) }
    }),
})

const headings = ['id', 'application', 'state', 'created_at', 'expires_at']

const shown = ({ id, application, created_at, expires_at, revoked_at }: TokenRow, now: number) => ({
  id,
  application,
  state: revoked_at !== null ? 'revoked' : expires_at <= now ? 'expired' : 'active',
  created_at: rfc3339(created_at),
  expires_at: rfc3339(expires_at),
})

export const appRevoke = defineCommand({
  name: 'app:revoke',
  about: 'Revoke a token of an application; its next request is refused',
  options: { id: required('<id>', 'The id of the token, as app:tokens shows it', id) },
  example: '--id 01a1ff14-e5e1-704e-ad30-df67e149b83c',
  failure: 'failed, or no active token has that id',
  roles,
  run: ({ config, options }) =>
    withPools(config, roles, async (db) => {
      const at = Date.now()
      const revoked = await asSystem(db, 'applications belong to no tenant', (tx) =>
        revokeToken(tx, { id: options.id, at }),
      )
      if (!revoked)
        throw new Refused('not_found', 'No token with that id is left to revoke: npm run cli -- app:tokens')
      return { data: { id: options.id, revoked: true }, text: 'The token is revoked.' }
    }),
})
