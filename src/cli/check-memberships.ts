import type { Client } from 'pg'
import { chooseTenants } from './check-counts.ts'

const maxMs = 5_000

interface Difference {
  tenant_id: string
  /** Members that `person_memberships` does not know. */
  missing: number
  /** People whom it names and who are no members, which is harmless: a delete could meet one who joins just now. */
  extra: number
}

/**
 * Compares `person_memberships` with the members of up to 100 tenants, for at most 5 s. Gives the tenants of which it lacks
 * members, and the number of its rows too many. As the system role.
 */
export async function compareMemberships(client: Client) {
  const end = performance.now() + maxMs
  const differences: Difference[] = []
  let [compared, extra] = [0, 0]
  for (const id of await chooseTenants(client)) {
    if (performance.now() > end) break
    const { rows } = await client.query<Difference>(compare, [id])
    differences.push(...rows.filter(({ missing }) => missing > 0))
    extra += rows[0]!.extra
    compared++
  }
  return { compared, extra, differences }
}

// One statement, so that both are of the same moment on one Postgres.
const compare = `
  select $1::uuid as tenant_id, count(*) filter (where n = 1)::int as missing, count(*) filter (where n = 2)::int as extra
  from (
    select user_id, sum(n) as n from (
      select user_id, 1 as n from memberships where tenant_id = $1 and user_id is not null
      union all select user_id, 2 from person_memberships where tenant_id = $1) both_tables
    group by user_id) people`

/** The statements that add what is missing, while the service runs. */
export const repairOf = (differences: readonly Difference[]): string =>
  differences
    .map(
      ({ tenant_id }) => `\
insert into person_memberships (tenant_id, user_id) select tenant_id, user_id from memberships \
where tenant_id = '${tenant_id}' and user_id is not null on conflict do nothing`,
    )
    .join('; ')
