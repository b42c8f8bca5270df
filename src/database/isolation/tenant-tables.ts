import { z } from 'zod'
import { sql, type Tx } from '../executor/transaction.ts'

const tableRow = z.object({
  name: z.string(),
  key: z.array(z.string()),
  /** Other tables whose rows refer to rows of this table. */
  referrers: z.array(z.string()),
  /** Pairs of columns by which a row refers to another row of the same table, and prevents its deletion: from, to. */
  self: z.array(z.tuple([z.string(), z.string()])),
})

/** A table with a tenant_id, as the catalogue describes it. */
export type TenantTable = z.infer<typeof tableRow>

/** Every table with a tenant_id, in the order of deletion: a table comes after all tables that refer to it. */
export async function listTenantTables(tx: Tx): Promise<TenantTable[]> {
  const rows = await tx.any(sql.type(tableRow)`
    with t as (
      select c.oid, c.relname::text as name from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    )
    select t.name,
      array(select a.attname::text from pg_index i cross join lateral unnest(i.indkey) k
            join pg_attribute a on a.attrelid = t.oid and a.attnum = k where i.indrelid = t.oid and i.indisprimary) as key,
      array(select distinct o.name from pg_constraint f join t o on o.oid = f.conrelid
            where f.contype = 'f' and f.confrelid = t.oid and f.conrelid <> t.oid) as referrers,
      coalesce((select jsonb_agg(jsonb_build_array(h.attname, r.attname)) from pg_constraint f
                cross join lateral unnest(f.conkey, f.confkey) p (here, there)
                join pg_attribute h on h.attrelid = t.oid and h.attnum = p.here
                join pg_attribute r on r.attrelid = t.oid and r.attnum = p.there
                where f.contype = 'f' and f.confdeltype = 'a' and f.conrelid = t.oid and f.confrelid = t.oid), '[]') as self
    from t order by t.name`)
  return inOrder([...rows])
}

function inOrder(tables: TenantTable[]): TenantTable[] {
  const ordered: TenantTable[] = []
  while (ordered.length < tables.length) {
    const done = new Set(ordered.map((table) => table.name))
    const next = tables.filter(
      ({ name, referrers }) => !done.has(name) && referrers.every((referrer) => done.has(referrer)),
    )
    if (next.length === 0) throw new Error('Tables of tenants refer to each other in a circle')
    ordered.push(...next)
  }
  return ordered
}

/** Deletes up to `limit` rows of a tenant, those without children first; gives how many (0: none is left). */
export async function deleteTenantRows(
  tx: Tx,
  table: TenantTable,
  tenantId: string,
  limit: number,
): Promise<number> {
  const name = sql.identifier([table.name])
  const key = sql.join(
    table.key.map((column) => sql.identifier([column])),
    sql.fragment`, `,
  )
  const { rowCount } = await tx.query(sql.unsafe`
    delete from ${name} where tenant_id = ${tenantId} and (${key}) in (
      select ${key} from ${name} t where t.tenant_id = ${tenantId} ${isLeaf(table)} limit ${limit})`)
  return rowCount
}

/** Selects rows without children, because foreign keys are checked at the end of each statement. */
function isLeaf({ name, self }: TenantTable) {
  if (self.length === 0) return sql.fragment``
  const refers = self.map(
    ([here, there]) => sql.fragment`c.${sql.identifier([here])} = t.${sql.identifier([there])}`,
  )
  return sql.fragment`and not exists (
    select 1 from ${sql.identifier([name])} c where ${sql.join(refers, sql.fragment` and `)})`
}
