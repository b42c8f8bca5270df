import { asSystem } from '../../platform/db/transaction.ts'
import { rfc3339 } from '../../platform/http/schemas.ts'
import { listAllTenants, type TenantSummary, tenantStatus } from '../../tenancy/tenants/store.ts'
import { inColumns } from '../columns.ts'
import { defineCommand } from '../command.ts'
import { anyText, defaulted, oneOf, optional, wholeNumber } from '../options.ts'
import { withPools } from '../with-database.ts'

const roles = ['system'] as const

export const tenantsList = defineCommand({
  name: 'tenants:list',
  about: 'List tenants, oldest first: id, slug, name, status, members, created',
  options: {
    status: optional(
      '<status>',
      'Those that are active, suspended, archived, or deleted and not purged yet; all but the deleted unless given',
      oneOf(...tenantStatus.options, 'deleted'),
    ),
    search: optional('<text>', 'Those whose slug or name begins so, in any case', anyText),
    limit: defaulted('<n>', 'At most so many, up to 10000', wholeNumber(1, 10_000), 100),
  },
  example: '--status suspended --search acme',
  roles,
  run: ({ config, options: { limit, ...filters }, say }) =>
    withPools(config, roles, async (db) => {
      const found = await asSystem(db, 'an operator looks over all tenants', (tx) =>
        listAllTenants(tx, { ...filters, limit: limit + 1 }),
      )
      const more = found.length > limit
      if (more) say(`There are more than ${limit}: --limit shows more.`)
      const tenants = found.slice(0, limit).map(shown)
      return { data: { tenants, more }, text: inColumns(headings, tenants.map(Object.values)) }
    }),
})

const headings = ['id', 'slug', 'name', 'status', 'members', 'created']

const shown = ({ id, slug, name, status, member_count, created_at }: TenantSummary) => ({
  id,
  slug,
  name,
  status,
  member_count,
  created_at: rfc3339(created_at),
})
