import { z } from 'zod'
import { written } from '../../request/body/known-members.ts'
import { rfc3339, timestamp } from '../../request/body/schemas.ts'
import { domainName } from '../tenants/email-domains.ts'
import { type DomainFields, type DomainRow, routings } from './store.ts'

const route = z.enum(routings, 'Give "always" or "never".').meta({
  description:
    'With `always`, a sign-in with an address of the domain goes on at the connections of the tenant',
})
const subdomains = z
  .boolean('Give true or false.')
  .meta({ description: 'The same holds for its subdomains that no tenant has verified' })

export const domainChange = z.object({ route, subdomains }).partial()
export type DomainChange = z.output<typeof domainChange>

export const domainSchema = z
  .object({
    id: z.uuid(),
    domain: z.string(),
    status: z.enum(['pending', 'verified', 'lost']),
    record: z
      .object({ type: z.literal('TXT'), name: z.string(), value: z.string() })
      .meta({ description: 'What to add to the DNS, and to leave there' }),
    route,
    subdomains,
    verified_at: timestamp.nullable(),
    missing_since: timestamp.nullable().meta({ description: 'Checks find no record since then' }),
    created_at: timestamp,
  })
  .meta({ id: 'Domain' })

export const newDomain = written(
  z.object({
    domain: domainName.meta({ description: 'In lower case; other alphabets become A-labels (`xn--…`)' }),
    route: route.default('always'),
    subdomains: subdomains.default(false),
  }),
  { shownAs: domainSchema },
)
export type NewDomain = z.output<typeof newDomain>

export const loanSchema = z.object({ tenant: z.uuid() }).meta({ id: 'DomainLoan' })
export const newLoan = z.object({ tenant: z.uuid('Give the id of a tenant: a UUID.') })

/** Where the record of a domain stands. */
export const recordName = (domain: string): string => `_bailiwick.${domain}`

export const showDomain = (row: DomainRow) => ({
  id: row.id,
  domain: row.domain,
  status: row.status,
  record: { type: 'TXT' as const, name: recordName(row.domain), value: row.record_value },
  route: row.route,
  subdomains: row.subdomains,
  verified_at: row.verified_at === null ? null : rfc3339(row.verified_at),
  missing_since: row.missing_since === null ? null : rfc3339(row.missing_since),
  created_at: rfc3339(row.created_at),
})

/** A domain as a resource in policies. It has no owner. */
export const domainResource = (row: DomainRow) => ({ type: 'domain', id: row.id, fields: showDomain(row) })

/** The fields of a domain that the audit log records. */
export const auditedDomain = ({ domain, status, route, subdomains, lent_to }: DomainFields & DomainRow) => ({
  domain,
  status,
  route,
  subdomains,
  lent_to,
})
