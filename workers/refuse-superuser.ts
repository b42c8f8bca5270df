import type { DatabasePool } from 'slonik'
import { z } from 'zod'
import { sql } from '../src/platform/db/transaction.ts'

const role = z.object({ name: z.string(), unbound: z.boolean() })

/** The role sees past row-level security; the message is made for an operator. */
export class UnboundRole extends Error {}

/** Throws {@link UnboundRole} where the worker's own role is one that row-level security does not bind. */
export async function refuseSuperuser(pool: DatabasePool): Promise<void> {
  const { name, unbound } = await pool.one(sql.type(role)`
    select rolname as name, rolsuper or rolbypassrls as unbound from pg_roles where rolname = current_user`)
  if (unbound)
    throw new UnboundRole(`The role ${name} is not bound by row-level security. Use bailiwick_worker.`)
}
