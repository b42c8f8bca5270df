import type { FragmentSqlToken } from 'slonik'
import { z } from 'zod'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { addressSeparators } from '../mail/email-address.ts'

const endsRow = z.object({ ends: z.array(z.string()) })

/** The user to scrub from one tenant. `targetIds` are the ids of the user's own objects that rows can be about. */
export interface Scrubbed {
  tenantId: string
  userId: string
  /** The addresses that the user proved. */
  emails: readonly string[]
  targetIds: readonly string[]
}

type Condition = (person: Scrubbed) => FragmentSqlToken

/**
 * One update of a table, done page by page in the order of `key`. `among` narrows the pages by an index that ends with
 * the key; without it all rows of the tenant are read. `where` selects the rows of a page (`x`) to change.
 */
export interface Scrub {
  table: string
  key: readonly string[]
  among?: Condition
  where?: Condition
  set: FragmentSqlToken
}

const identifying = sql.array(
  ['email', 'external_id', 'first_name', 'last_name', 'attributes', 'name', 'slug'],
  'text',
)
const targets = ({ targetIds }: Scrubbed) => sql.array(targetIds, 'uuid')
const byTime = ['at', 'id']

/**
 * Removes a user's data from a tenant's logs: audit log, events, decisions, approvals, invitations. Only the id stays.
 */
export const scrubs: readonly Scrub[] = [
  {
    table: 'audit_log',
    key: byTime,
    among: ({ userId }) => sql.fragment`actor_id = ${userId}`,
    set: sql.fragment`actor_email = null, ip = '', user_agent = ''`,
  },
  {
    table: 'audit_log',
    key: byTime,
    among: ({ userId }) => sql.fragment`impersonator_id = ${userId}`,
    set: sql.fragment`impersonator_email = null, ip = '', user_agent = ''`,
  },
  {
    table: 'audit_log',
    key: byTime,
    among: (person) => sql.fragment`target_id = any(${targets(person)})`,
    where: () => sql.fragment`x.changes ?| ${identifying}`,
    set: sql.fragment`changes = x.changes - ${identifying}`,
  },
  {
    table: 'events',
    key: ['id'],
    where: ({ userId }) => sql.fragment`x.subject = ${userId} and x.data ? 'email'`,
    set: sql.fragment`data = x.data || '{"email": null}'`,
  },
  {
    table: 'decisions',
    key: byTime,
    among: ({ userId, emails }) => sql.fragment`subject_id = any(${sql.array([userId, ...emails], 'text')})`,
    set: sql.fragment`subject_email = null, facts = '{"cut": true}'`,
  },
  {
    table: 'decisions',
    key: ['id'],
    where: (person) => sql.fragment`x.resource_id = any(${targets(person)}::text[]) and not x.facts ? 'cut'`,
    set: sql.fragment`facts = '{"cut": true}'`,
  },
  {
    table: 'approval_requests',
    key: ['id'],
    where: ({ userId, emails }) => sql.fragment`
      (x.requester_id = ${userId} or x.subject_id = ${userId} or ${namesOne(emails)})`,
    set: sql.fragment`
      requester_email = '', subject_email = null, message = '', kept = null,
      context = x.context || case when x.kind = 'call' then '{"body": null, "ip": ""}'
        else '{"properties": null, "action_properties": null, "context": null}' end::jsonb`,
  },
  {
    // An application can call a subject of its own by an address.
    table: 'approval_requests',
    key: ['id'],
    among: ({ emails }) =>
      sql.fragment`kind = 'application' and subject_id = any(${sql.array(emails, 'text')})`,
    set: sql.fragment`subject_id = ''`,
  },
  {
    table: 'approval_votes',
    key: ['request_id', 'approver_id'],
    where: ({ userId }) => sql.fragment`x.approver_id = ${userId}`,
    set: sql.fragment`approver_email = '', comment = ''`,
  },
  {
    table: 'invitations',
    key: ['id'],
    where: ({ userId }) => sql.fragment`x.invited_by = ${userId}`,
    set: sql.fragment`invited_by_email = ''`,
  },
]

/** As namesAddress (email-address.ts), of what an approval request says. */
function namesOne(emails: readonly string[]): FragmentSqlToken {
  const words = addressSeparators.map(
    ({ source }) => sql.fragment`regexp_split_to_array(${said}, ${source}) && ${sql.array(emails, 'text')}`,
  )
  return sql.fragment`(${sql.join(words, sql.fragment` or `)})`
}

// Without concat_ws, which is not immutable (src/database/forms.md).
const said = sql.fragment`coalesce(x.subject_id, '') || ' ' || coalesce(x.message, '') || ' ' || x.context::text || ' '
    || coalesce(x.kept::text, '')`

/** The key of the last row of a page, as text. */
export type PageEnd = readonly string[]

/**
 * Scrubs a page of at most `limit` rows after `after` (null: the first page). Gives its end; null when there are no
 * more rows. As the worker role.
 */
export async function scrubPage(
  tx: Tx,
  { table, key, among, where, set }: Scrub,
  person: Scrubbed,
  { after, limit }: { after: PageEnd | null; limit: number },
): Promise<PageEnd | null> {
  const { tenantId } = person
  const name = sql.identifier([table])
  const columns = key.map((column) => sql.identifier([column]))
  const list = sql.join(columns, sql.fragment`, `)
  const behind = after && sql.join(after.map(boundOf(key)), sql.fragment`, `)
  const ends = await tx.maybeOneFirst(sql.type(endsRow)`
    with page as (
      select ${list} from ${name}
      where tenant_id = ${tenantId} and ${among?.(person) ?? sql.fragment`true`}
        and ${behind ? sql.fragment`(${list}) > (${behind})` : sql.fragment`true`}
      order by ${list} limit ${limit}),
    scrubbed as (
      update ${name} x set ${set} from page
      where x.tenant_id = ${tenantId} and ${sameKey(key)} and ${where?.(person) ?? sql.fragment`true`})
    select array[${sql.join(
      columns.map((column) => sql.fragment`${column}::text`),
      sql.fragment`, `,
    )}] as ends
    from page order by ${sql.join(
      columns.map((column) => sql.fragment`${column} desc`),
      sql.fragment`, `,
    )} limit 1`)
  return ends
}

const boundOf = (key: readonly string[]) => (value: string, n: number) =>
  key[n] === 'at' ? sql.fragment`${value}::timestamptz` : sql.fragment`${value}::uuid`

const sameKey = (key: readonly string[]) =>
  sql.join(
    key.map((column) => sql.fragment`x.${sql.identifier([column])} = page.${sql.identifier([column])}`),
    sql.fragment` and `,
  )
