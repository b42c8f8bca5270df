import type { FragmentSqlToken } from 'slonik'
import { sql, type Tx } from './executor/transaction.ts'

/** The key of a row of a tenant, without the rest of it. */
interface OfTenant {
  tenantId: string
}

/**
 * `and <column> = <the tenants of these keys>` for a statement that joins rows of keys; `column` is the tenant_id of its table. On one
 * Postgres it is empty, because the keys name their tenants. A cluster would ask every node: it derives no tenant from a join.
 */
export function ofTenants(
  { distributed }: Pick<Tx, 'distributed'>,
  column: FragmentSqlToken,
  keys: readonly OfTenant[],
): FragmentSqlToken {
  if (!distributed) return sql.fragment``
  const [one = null, ...others] = new Set(keys.map(({ tenantId }) => tenantId))
  // Rows of several tenants cannot be locked, and with `any` Citus does not see that there is one.
  if (others.length === 0) return sql.fragment`and ${column} = ${one}`
  return sql.fragment`and ${column} = any(${sql.array([one, ...others], 'uuid')})`
}

/** Keys in the groups whose rows one statement can lock: all of them; on a cluster tenant by tenant, because Citus locks rows of one shard. */
export function lockableGroups<Key extends OfTenant>(
  { distributed }: Pick<Tx, 'distributed'>,
  keys: readonly Key[],
): (readonly Key[])[] {
  if (!distributed) return [keys]
  const inOrder = keys.toSorted((one, other) => (one.tenantId < other.tenantId ? -1 : 1))
  return [...Map.groupBy(inOrder, ({ tenantId }) => tenantId).values()]
}

/**
 * The pairs of tenant and `column` that a table has, as `tenant_id` and `column`. It skips from pair to pair along an index that begins
 * with both, so the number of rows does not matter. On a cluster it reads all rows, because each node has its part of the index.
 */
export function distinctPairs(
  { distributed }: Pick<Tx, 'distributed'>,
  table: string,
  column: string,
): FragmentSqlToken {
  const [name, key] = [sql.identifier([table]), sql.identifier([column])]
  if (distributed) return sql.fragment`select distinct tenant_id, ${key} from ${name}`
  return sql.fragment`
    with recursive known as (
      (select tenant_id, ${key} from ${name} order by tenant_id, ${key} limit 1)
      union all
      select next.tenant_id, next.${key} from known k cross join lateral (
        select tenant_id, ${key} from ${name} d
        where (d.tenant_id, d.${key}) > (k.tenant_id, k.${key}) order by tenant_id, ${key} limit 1) next
    )
    select tenant_id, ${key} from known`
}
