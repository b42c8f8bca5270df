import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { sqlState, uniqueViolation } from '../../database/executor/database-errors.ts'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { ApiError } from '../../errors.ts'
import { defineList, type ListPage } from '../../lists/list.ts'

export const routings = ['always', 'never'] as const

const domainRow = z.object({
  id: z.uuid(),
  domain: z.string(),
  status: z.enum(['pending', 'verified', 'lost']),
  record_value: z.string(),
  route: z.enum(routings),
  subdomains: z.boolean(),
  lent_to: z.array(z.uuid()),
  verified_at: z.number().nullable(),
  missing_since: z.number().nullable(),
  created_at: z.number(),
  version: z.number(),
})

export type DomainRow = z.infer<typeof domainRow>

/** What the editors of a domain set. */
export type DomainFields = Pick<DomainRow, 'route' | 'subdomains' | 'lent_to'>

export interface DomainKey {
  tenantId: string
  id: string
}

const columns = sql.fragment`
  id, domain, status, record_value, route, subdomains, lent_to, verified_at, missing_since, created_at, version`

/** The domains of a tenant. */
export const domainList = defineList({
  id: { column: sql.fragment`id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`created_at`, field: 'created_at' } },
})

/** A page of the tenant's domains. */
export function listDomains(read: Read, tenantId: string, page: ListPage): Promise<readonly DomainRow[]> {
  return read.any(sql.type(domainRow)`
    select ${columns} from domains where tenant_id = ${tenantId} ${page.tail}`)
}

/** How many domains match the filters; without `page`, how many there are. */
export function countDomains(read: Read, tenantId: string, page?: ListPage): Promise<number> {
  return read.oneFirst(sql.type(countRow)`
    select count(*) from domains where tenant_id = ${tenantId} ${page?.conditions ?? sql.fragment``}`)
}

/** One domain of the tenant, or null. */
export function findDomain(read: Read, { tenantId, id }: DomainKey): Promise<DomainRow | null> {
  return read.maybeOne(sql.type(domainRow)`
    select ${columns} from domains where tenant_id = ${tenantId} and id = ${id}`)
}

/** As findDomain, but locks the domain until the transaction ends. */
export function lockDomain(tx: Tx, { tenantId, id }: DomainKey): Promise<DomainRow | null> {
  return tx.maybeOne(sql.type(domainRow)`
    select ${columns} from domains where tenant_id = ${tenantId} and id = ${id} for no key update`)
}

/** Whether the tenant claims a domain. The tenant is locked. */
export async function isClaimed(tx: Tx, tenantId: string, domain: string): Promise<boolean> {
  const found = await tx.maybeOne(sql.type(idRow)`
    select id from domains where tenant_id = ${tenantId} and domain = ${domain}`)
  return found !== null
}

/** Whether another tenant has verified a domain. As the system role. */
export async function isOfAnother(read: Read, tenantId: string, domain: string): Promise<boolean> {
  const found = await read.maybeOne(sql.type(idRow)`
    select id from domains where domain = ${domain} and status = 'verified' and tenant_id <> ${tenantId}`)
  return found !== null
}

/** Inserts a claim. `at` in ms since 1970. */
export function insertDomain(
  tx: Tx,
  { tenantId, createdBy, ...domain }: DomainRow & { tenantId: string; createdBy: string },
): void {
  const when = instant(domain.created_at)
  tx.later(sql.unsafe`
    insert into domains (tenant_id, id, domain, status, record_value, route, subdomains, created_by, created_at, updated_at)
    values (${tenantId}, ${domain.id}, ${domain.domain}, ${domain.status}, ${domain.record_value}, ${domain.route},
            ${domain.subdomains}, ${createdBy}, ${when}, ${when})`)
}

/** Updates a locked domain. `at` in ms since 1970. */
export function changeDomain(
  tx: Tx,
  { tenantId, id, route, subdomains, lent_to, at }: DomainKey & DomainFields & { at: number },
): void {
  tx.later(sql.unsafe`
    update domains set route = ${route}, subdomains = ${subdomains}, lent_to = ${sql.array(lent_to, 'uuid')},
      version = version + 1, updated_at = ${instant(at)}
    where tenant_id = ${tenantId} and id = ${id}`)
}

/** Deletes a domain. */
export function deleteDomain(tx: Tx, { tenantId, id }: DomainKey): void {
  tx.later(sql.unsafe`delete from domains where tenant_id = ${tenantId} and id = ${id}`)
}

export const domainTaken = () =>
  new ApiError(409, 'domain_taken', 'Another tenant has verified this domain. A domain has one owner.')

/**
 * Marks a locked domain as verified at `at` (ms since 1970). Throws 409 `domain_taken` if another tenant has it: the unique
 * index of verified domains decides who was first.
 */
export async function markVerified(tx: Tx, { tenantId, id, at }: DomainKey & { at: number }): Promise<void> {
  const when = instant(at)
  try {
    await tx.query(sql.unsafe`
      update domains set status = 'verified', verified_at = ${when}, asked_at = ${when}, missing_since = null,
        version = version + 1, updated_at = ${when}
      where tenant_id = ${tenantId} and id = ${id}`)
  } catch (error) {
    throw sqlState(error) === uniqueViolation ? domainTaken() : error
  }
}

const dueRow = z.object({
  tenant_id: z.uuid(),
  id: z.uuid(),
  domain: z.string(),
  record_value: z.string(),
  tenant_name: z.string(),
  is_deleted: z.boolean(),
})

/** A verified domain whose record is to be checked, or whose tenant was deleted. */
export type DueDomain = z.infer<typeof dueRow>

/** Up to `limit` verified domains that were last asked for before `before` (ms since 1970). As the worker role. */
export function listDue(read: Read, before: number, limit: number): Promise<readonly DueDomain[]> {
  return read.any(sql.type(dueRow)`
    select d.tenant_id, d.id, d.domain, d.record_value, t.name as tenant_name, t.deleted_at is not null as is_deleted
    from domains d join tenants t on t.id = d.tenant_id
    where d.status = 'verified' and d.asked_at <= ${instant(before)} order by d.asked_at limit ${limit}`)
}

const checkedRow = z.object({
  status: domainRow.shape.status,
  missing_since: z.number().nullable(),
  asked_before: z.number(),
})

/** A check of a domain. Times in ms since 1970; `lostIf`: missing since then at the latest, it is lost. */
export interface DomainCheck extends DomainKey {
  isThere: boolean
  at: number
  lostIf: number
  /** Those that were checked since are left alone. */
  askedBefore: number
}

/**
 * Records what a check found of a verified domain, and gives what it is now, and when it was asked for before; null if another process
 * checked it meanwhile.
 */
export function recordCheck(
  tx: Tx,
  { tenantId, id, isThere, at, lostIf, askedBefore }: DomainCheck,
): Promise<z.infer<typeof checkedRow> | null> {
  const when = instant(at)
  return tx.maybeOne(sql.type(checkedRow)`
    update domains d set asked_at = ${when},
      missing_since = case when ${isThere} then null else coalesce(d.missing_since, ${when}) end,
      status = case when not ${isThere} and coalesce(d.missing_since, ${when}) <= ${instant(lostIf)} then 'lost' else 'verified' end,
      version = d.version + case when ${isThere} = (d.missing_since is null) then 0 else 1 end
    from domains was
    where d.tenant_id = ${tenantId} and d.id = ${id} and d.status = 'verified' and d.asked_at <= ${instant(askedBefore)}
      and was.tenant_id = ${tenantId} and was.id = d.id
    returning d.status, d.missing_since, was.asked_at as asked_before`)
}

const voucherRow = z.object({ is: z.enum(['owner', 'borrower']).nullable() })

/**
 * As what a tenant can say whose an address is: as the owner of its verified domain, or as a tenant to which that one lends it; null: not
 * at all. As the system role.
 */
export async function findVoucher(
  read: Read,
  tenantId: string,
  email: string,
): Promise<'owner' | 'borrower' | null> {
  const found = await read.maybeOne(sql.type(voucherRow)`
    select case when not ${reaches(email)} then null
                when tenant_id = ${tenantId} then 'owner'
                when ${tenantId} = any(lent_to) then 'borrower' end as is
    ${nearestTo(email)}`)
  return found?.is ?? null
}

const domainOf = (email: string) => email.slice(email.lastIndexOf('@') + 1)

/** Whether a domain of {@link nearestTo} covers an address. */
const reaches = (email: string) => sql.fragment`(domain = ${domainOf(email)} or subdomains)`

/** The verified domain that is nearest to that of an address: itself, or a parent. */
function nearestTo(email: string): FragmentSqlToken {
  const parents = domainOf(email)
    .split('.')
    .map((_, i, labels) => labels.slice(i).join('.'))
  return sql.fragment`
    from domains where domain = any(${sql.array(parents, 'text')}) and status = 'verified' order by length(domain) desc limit 1`
}

const ownRow = z.object({ id: z.uuid().nullable() })

/** Whether two addresses are in one domain that the tenant verified and lends to no one. As the system role. */
export async function isInOneDomain(
  read: Read,
  tenantId: string,
  emails: readonly [string, string],
): Promise<boolean> {
  const [one, other] = await Promise.all(
    emails.map((email) =>
      read.maybeOneFirst(sql.type(ownRow)`
        select case when ${reaches(email)} and tenant_id = ${tenantId} and lent_to = '{}' then id end as id
        ${nearestTo(email)}`),
    ),
  )
  return one != null && one === other
}

const leadingRow = z.object({ tenant_id: z.uuid(), lent_to: z.array(z.uuid()), leads: z.boolean() })

/**
 * The tenants to whose connections an address leads (`route: always`), or a domain: the owner of the domain, and those to which it lends
 * it. As the system role.
 */
export async function listTenantsLedTo(read: Read, addressOrDomain: string): Promise<readonly string[]> {
  const found = await read.maybeOne(sql.type(leadingRow)`
    select tenant_id, lent_to, route = 'always' and ${reaches(addressOrDomain)} as leads ${nearestTo(addressOrDomain)}`)
  return found?.leads ? [found.tenant_id, ...found.lent_to] : []
}
