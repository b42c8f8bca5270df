import { z } from 'zod'
import { addToCount } from '../../database/count-rows.ts'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { ApiError } from '../../errors.ts'
import { byText, byWord, defineList, type ListPage } from '../../lists/list.ts'
import { dataTypes, type Scalar } from '../../policy-engine/compile/conditions.ts'
import { applicationName } from '../../request/body/schemas.ts'

/** Where the value of a resource's attribute comes from, if the resource is registered. */
export const sources = ['registered', 'caller'] as const

export const categories = ['subject', 'resource', 'action', 'environment'] as const

const definitionRow = z.object({
  id: z.uuid(),
  key: z.string(),
  display_name: z.string(),
  category: z.enum(categories),
  data_type: z.enum(dataTypes),
  allowed_values: z.custom<Scalar[] | null>((value) => value === null || Array.isArray(value)),
  is_required: z.boolean(),
  description: z.string(),
  source: z.enum(sources),
  managed_by: z.string().nullable(),
  created_at: z.number(),
})

export type DefinitionRow = z.infer<typeof definitionRow>

const columns = sql.fragment`
  id, key, display_name, category, data_type, allowed_values, is_required, description, source,
  managed_by, created_at`

/** All attributes that a tenant has defined, oldest first; 500 at most. */
export function listDefinitions(tx: Read, tenantId: string): Promise<readonly DefinitionRow[]> {
  return tx.any(sql.type(definitionRow)`
    select ${columns} from attribute_definitions where tenant_id = ${tenantId} order by created_at, id`)
}

const types = ['uuid', 'text', 'text', 'text', 'text', 'jsonb', 'bool', 'text', 'text', 'text', 'timestamptz']

/** The attributes that a tenant's policies can name. */
export const definitionList = defineList({
  id: { column: sql.fragment`id`, field: 'id' },
  orderings: { created_at: { column: sql.fragment`created_at`, field: 'created_at' } },
  filters: {
    category: byWord(sql.fragment`category`, categories),
    data_type: byWord(sql.fragment`data_type`, dataTypes),
    managed_by: byText(sql.fragment`managed_by`, applicationName, 'managed_by'),
  },
})

function allDefinitions(tenantId: string, builtIn: readonly DefinitionRow[]) {
  const rows = builtIn.map((row) => [
    row.id,
    row.key,
    row.display_name,
    row.category,
    row.data_type,
    null,
    row.is_required,
    row.description,
    row.source,
    row.managed_by,
    new Date(row.created_at).toISOString(),
  ])
  return sql.fragment`
    select ${columns} from attribute_definitions where tenant_id = ${tenantId}
    union all select * from ${sql.unnest(rows, types)} as b (${columns})`
}

/** A page of `builtIn` and the tenant's own definitions. */
export function pageOfDefinitions(
  tx: Read,
  tenantId: string,
  builtIn: readonly DefinitionRow[],
  page: ListPage,
): Promise<readonly DefinitionRow[]> {
  return tx.any(sql.type(definitionRow)`
    select ${columns} from (${allDefinitions(tenantId, builtIn)}) d
    where true ${page.tail}`)
}

/** The number of definitions, `builtIn` and the tenant's own, that pass the filters. */
export function countListed(
  tx: Read,
  tenantId: string,
  builtIn: readonly DefinitionRow[],
  page: ListPage,
): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from (${allDefinitions(tenantId, builtIn)}) d where true ${page.conditions}`)
}

/** The number of definitions that the tenant made itself. */
export function countOwnDefinitions(tx: Tx, tenantId: string): Promise<number> {
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from attribute_definitions where tenant_id = ${tenantId} and managed_by is null`)
}

/** One of the tenant's own definitions, or null. */
export function findDefinition(tx: Read, tenantId: string, id: string): Promise<DefinitionRow | null> {
  return tx.maybeOne(sql.type(definitionRow)`
    select ${columns} from attribute_definitions where tenant_id = ${tenantId} and id = ${id}`)
}

type Key = Pick<DefinitionRow, 'category' | 'key'>

export const keyTaken = ({ category, key }: Key) =>
  new ApiError(
    409,
    'key_taken',
    `The attribute ${category}.${key} already exists, or one that differs from it by case alone.`,
  )

/** Inserts a definition. The transaction can fail with 409 `key_taken`. */
export function insertDefinition(
  tx: Tx,
  tenantId: string,
  row: Omit<DefinitionRow, 'created_at'> & { at: number },
): void {
  tx.later(
    sql.unsafe`
      insert into attribute_definitions (tenant_id, id, key, display_name, category, data_type, allowed_values,
                                         is_required, description, source, managed_by, created_at)
      values (${tenantId}, ${row.id}, ${row.key}, ${row.display_name}, ${row.category}, ${row.data_type},
              ${row.allowed_values === null ? null : sql.jsonb(row.allowed_values)}, ${row.is_required},
              ${row.description}, ${row.source}, ${row.managed_by},
              ${instant(row.at)})`,
    () => keyTaken(row),
  )
  addToCount(tx, tenantId, 'attribute_definitions')
}

/** Deletes a definition that no policy and no member uses; false if nothing was deleted. */
export async function deleteDefinition(tx: Tx, tenantId: string, id: string): Promise<boolean> {
  const deleted = await tx.maybeOne(sql.type(idRow)`
    delete from attribute_definitions d
    where d.tenant_id = ${tenantId} and d.id = ${id}
      and not exists (select 1 from policies p where p.tenant_id = ${tenantId}
                      and p.compiled -> 'attributes' ? (d.category || '.' || d.key))
      and not (d.category = 'subject' and exists (
        select 1 from memberships m where m.tenant_id = ${tenantId} and m.attributes ? d.key))
    returning d.id`)
  if (deleted) addToCount(tx, tenantId, 'attribute_definitions', -1)
  return deleted !== null
}

/** Changes what can change about a definition, and the manifest that it comes from (null: none, it is the tenant's own). */
export async function changeDefinition(
  tx: Tx,
  tenantId: string,
  row: Pick<
    DefinitionRow,
    'id' | 'display_name' | 'allowed_values' | 'is_required' | 'description' | 'source' | 'managed_by'
  >,
): Promise<void> {
  tx.later(sql.unsafe`
    update attribute_definitions set display_name = ${row.display_name},
      allowed_values = ${row.allowed_values === null ? null : sql.jsonb(row.allowed_values)},
      is_required = ${row.is_required}, description = ${row.description}, source = ${row.source},
      managed_by = ${row.managed_by}
    where tenant_id = ${tenantId} and id = ${row.id}`)
}
