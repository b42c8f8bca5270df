import { asSystem } from '../../database/executor/transaction.ts'
import { ApiError } from '../../errors.ts'
import { selectableTypes } from '../../events/webhooks/webhook-schemas.ts'
import { issueToken } from '../../installation/tokens/application-token.ts'
import { listSlugs, listTokens, revokeToken, type TokenRow } from '../../installation/tokens/store.ts'
import { rfc3339 } from '../../request/body/schemas.ts'
import { defineCommand, Refused } from '../command.ts'
import { anyText, defaulted, didYouMean, id, Misuse, required, wholeNumber } from '../options.ts'
import { inColumns } from '../printable.ts'
import { withPools } from '../with-database.ts'

const roles = ['system'] as const
const day = 86_400_000

function refuse(error: unknown): never {
  throw error instanceof ApiError ? new Refused(error.code, error.message) : error
}

/** Names with commas between them; null for `*`, which is all. */
const listOrAll = (text: string) => (text.trim() === '*' ? null : text.split(',').map(anyText))

const typesOrAll = (text: string) => {
  const types = listOrAll(text)
  const unknown = types?.find((type) => !selectableTypes.has(type))
  if (unknown === undefined) return types
  const wanted = "must be types such as tenant.*,identity.user_created, or '*' for all"
  throw new Misuse(`${wanted}${didYouMean(unknown, selectableTypes)}`)
}

export const appToken = defineCommand({
  name: 'app:token',
  about: 'Issue a token with which an application reads events of the tenants; printed once',
  options: {
    application: required('<name>', 'The application, as in its manifest'),
    events: required(
      '<types>',
      "Types it reads, such as tenant.*,identity.user_created; '*' for all",
      typesOrAll,
    ),
    tenants: required(
      '<slugs>',
      "Slugs of the tenants whose events it reads; '*' for all, also later ones",
      listOrAll,
    ),
    days: defaulted('<n>', 'Days until it expires, up to 400', wholeNumber(1, 400), 365),
  },
  example: '--application logbook --events "tenant.*" --tenants meridian,harbour --days 90',
  failure: 'failed, the application has no manifest, or a slug is of no tenant',
  roles,
  run: ({ config, options: { application, events, tenants, days } }) =>
    withPools(config, roles, async (db) => {
      const wanted = { application, eventTypes: events, slugs: tenants, validMs: days * day }
      const issued = await issueToken({ db, clock: Date.now }, wanted).catch(refuse)
      const expires_at = rfc3339(issued.expiresAt)
      return {
        data: { id: issued.id, application, events, tenants, token: issued.token, expires_at },
        text: [
          `Token    ${issued.token}   (shown once)`,
          `Id       ${issued.id}   npm run cli -- app:revoke --id ${issued.id}`,
          `Reads    events: ${textOf(events)}   tenants: ${textOf(tenants)}`,
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
      const { rows, slugs } = await asSystem(db, 'applications belong to no tenant', async (tx) => {
        const rows = await listTokens(tx)
        const ids = new Set(rows.flatMap(({ tenant_ids }) => tenant_ids ?? []))
        return { rows, slugs: new Map((await listSlugs(tx, [...ids])).map(({ id, slug }) => [id, slug])) }
      })
      const tokens = rows.map((row) => shown(row, slugs, Date.now()))
      const columns = tokens.map(({ events, tenants, last_used_at, ...rest }) =>
        Object.values({
          ...rest,
          last_used_at: last_used_at ?? 'never',
          events: textOf(events),
          tenants: textOf(tenants),
        }),
      )
      const text = [inColumns(headings, columns), ...warnings(tokens)].join('\n')
      return { data: { tokens }, text }
    }),
})

const headings = [
  'id',
  'application',
  'state',
  'created_at',
  'expires_at',
  'last_used_at',
  'events',
  'tenants',
]

const textOf = (names: readonly string[] | null) => names?.join() ?? 'all'

const shown = (row: TokenRow, slugs: ReadonlyMap<string, string>, now: number) => ({
  id: row.id,
  application: row.application,
  state: row.revoked_at !== null ? 'revoked' : row.expires_at <= now ? 'expired' : 'active',
  created_at: rfc3339(row.created_at),
  expires_at: rfc3339(row.expires_at),
  last_used_at: row.last_used_at === null ? null : rfc3339(row.last_used_at),
  events: row.event_types,
  tenants: row.tenant_ids?.map((id) => slugs.get(id) ?? id) ?? null,
})

function warnings(tokens: readonly ReturnType<typeof shown>[]): string[] {
  const wide = tokens.filter(({ state, events, tenants }) => state === 'active' && !events && !tenants)
  if (wide.length === 0) return []
  return [
    `Warning: these tokens read every event of every tenant: ${wide.map(({ id }) => id).join(', ')}.`,
    'Issue narrower ones with --events and --tenants, then revoke these: npm run cli -- app:revoke --id <id>.',
  ]
}

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
