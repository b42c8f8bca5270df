import { randomBytes } from 'node:crypto'
import pg from 'pg'

/**
 * Inserts `size` members into a tenant directly in the database: crowd-000001@example.test …, First1 Last1 …, one
 * second apart from `since` (ms) on, with the role of this name. No password matches theirs. Gives their user ids.
 */
export async function crowd(
  superuserUrl: string,
  tenant: { id: string; size: number; since: number; role?: string },
): Promise<string[]> {
  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ user_id: string }>(insertCrowd, [
      tenant.id,
      tenant.size,
      new Date(tenant.since),
      tenant.role ?? 'member',
      randomBytes(4).toString('hex'),
    ])
    await client.query('analyze users, memberships, membership_roles, row_counts')
    return rows.map((row) => row.user_id)
  } finally {
    await client.end()
  }
}

const insertCrowd = `
  with people as (
    select n, gen_random_uuid() as user_id, gen_random_uuid() as membership_id,
      format('crowd-%s-%s@example.test', lpad(n::text, 6, '0'), $5::text) as email, $3::timestamptz + n * interval '1 second' as at
    from generate_series(1, $2::int) n),
  users as (
    insert into users (id, email, password_hash, first_name, last_name, date_joined, updated_at)
    select user_id, email, '', 'First' || n, 'Last' || n, at, at from people),
  members as (
    insert into memberships (tenant_id, id, user_id, email, first_name, last_name, is_active, date_joined, person_version,
      joined_at, updated_at)
    select $1, membership_id, user_id, email, 'First' || n, 'Last' || n, true, at, 1, at, at from people),
  assigned as (
    insert into membership_roles (tenant_id, membership_id, role_id)
    select $1, membership_id, r.id from people join roles r on r.tenant_id = $1 and r.name = $4),
  counted as (
    insert into row_counts as c (tenant_id, relation, rows) values ($1, 'memberships', $2)
    on conflict (tenant_id, relation) do update set rows = c.rows + excluded.rows)
  select user_id from people order by n`
