import { asSystem } from '../../database/executor/transaction.ts'
import { rfc3339 } from '../../request/body/schemas.ts'
import { listAllTenants, type TenantSummary, tenantStatus } from '../../tenancy/tenants/store.ts'
import { defineCommand } from '../command.ts'
import { anyText, defaulted, oneOf, optional, wholeNumber } from '../options.ts'
import { inColumns } from '../printable.ts'
import { withPools } from '../with-database.ts'

const roles = ['system'] as const

export const tenantsList = defineCommand({
  name: 'tenants:list',
  about: 'List tenants, oldest first: id, slug, name, status, members, created',
  options: {
    status: optional(
      '<status>',
      'Only active, suspended, archived, or deleted (not yet erased) tenants (default: all except deleted)',
      oneOf(...tenantStatus.options, 'deleted'),
    ),
    search: optional(
      '<text>',
      'Only tenants whose slug or name starts with this, in any letter case',
      anyText,
    ),
    limit: defaulted('<n>', 'Maximum number of rows, up to 10000', wholeNumber(1, 10_000), 100),
  },
  example: '--status suspended --search acme',
  roles,
  run: ({ config, options: { limit, ...filters }, say }) =>
    withPools(config, roles, async (db) => {
      const found = await asSystem(db, 'an operator lists all tenants', (tx) =>
        listAllTenants(tx, { ...filters, limit: limit + 1 }),
      )
      const more = found.length > limit
      if (more) say(`There are more than ${limit}: --limit shows more.`)
      const tenants = found.slice(0, limit).map(toRow)
      return { data: { tenants, more }, text: inColumns(headings, tenants.map(Object.values)) }
    }),
})

const headings = ['id', 'slug', 'name', 'status', 'members', 'created']

const toRow = ({ id, slug, name, status, member_count, created_at }: TenantSummary) => ({
  id,
  slug,
  name,
  status,
  member_count,
  created_at: rfc3339(created_at),
})
