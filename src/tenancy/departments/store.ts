import { z } from 'zod'
import { addToCount, countRows } from '../../database/count-rows.ts'
import type { Read } from '../../database/executor/read.ts'
import { countRow, idRow } from '../../database/executor/row-schemas.ts'
import { sql, type Tx } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { byId, defineList, type ListPage } from '../../lists/list.ts'

const nameRow = z.object({ name: z.string() })
const aboveRow = z.object({ above: z.boolean() })
const movesRow = z.object({ moves: z.boolean() })

const departmentRow = z.object({
  id: z.uuid(),
  name: z.string(),
  description: z.string(),
  parent_id: z.uuid().nullable(),
  name_key: z.string(),
  version: z.number(),
  member_count: z.number(),
  created_at: z.number(),
  updated_at: z.number(),
})

export type DepartmentRow = z.infer<typeof departmentRow>

/** A department as it is shown. */
export type Department = Omit<DepartmentRow, 'name_key'>

const columnsIn = (tenantId: string) => sql.fragment`
  d.id, d.name, d.description, d.parent_id, d.created_at, d.updated_at,
  d.name_key, d.version,
  (select count(*) from memberships m where m.tenant_id = ${tenantId} and m.department_id = d.id) as member_count`

/** The departments of a tenant. */
export const departmentList = defineList({
  id: { column: sql.fragment`d.id`, field: 'id' },
  orderings: {
    created_at: { column: sql.fragment`d.created_at`, field: 'created_at' },
    name: { column: sql.fragment`d.name_key`, field: 'name_key' },
  },
  filters: { parent_id: byId(sql.fragment`d.parent_id`) },
  search: [{ column: sql.fragment`d.name_key`, reveals: ['name'] }],
})

/** A page of the tenant's departments. */
export function listDepartments(
  tx: Read,
  tenantId: string,
  page: ListPage,
): Promise<readonly DepartmentRow[]> {
  return tx.any(sql.type(departmentRow)`
    select ${columnsIn(tenantId)} from departments d where d.tenant_id = ${tenantId} ${page.tail}`)
}

/** Counts the departments that match the filters. Without filters the count comes from `row_counts`. */
export function countListed(tx: Read, tenantId: string, page: ListPage): Promise<number> {
  if (!page.filtered) return countDepartments(tx, tenantId)
  return tx.oneFirst(sql.type(countRow)`
    select count(*) from departments d where d.tenant_id = ${tenantId} ${page.conditions}`)
}

/** Counts all departments of the tenant, from `row_counts`. */
export const countDepartments = (tx: Read, tenantId: string): Promise<number> =>
  countRows(tx, tenantId, 'departments')

/** One department of the tenant, or null. */
export function findDepartment(tx: Read, tenantId: string, id: string): Promise<DepartmentRow | null> {
  return tx.maybeOne(sql.type(departmentRow)`
    select ${columnsIn(tenantId)} from departments d where d.tenant_id = ${tenantId} and d.id = ${id}`)
}

/** Locks a department against deletion until the transaction ends; false when it does not exist. */
export async function lockDepartmentShared(tx: Tx, tenantId: string, id: string): Promise<boolean> {
  const locked = await tx.maybeOne(sql.type(idRow)`
    select id from departments where tenant_id = ${tenantId} and id = ${id} for key share`)
  return locked !== null
}

/** As {@link lockDepartmentShared}, for many departments. Gives the ids of those that exist. */
export async function lockDepartmentsShared(
  tx: Tx,
  tenantId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const locked = await tx.anyFirst(sql.type(idRow)`
    select id from departments where tenant_id = ${tenantId} and id = any(${sql.array([...ids], 'uuid')})
    order by id for key share`)
  return new Set(locked)
}

/** Waits for transactions that assign members to a department, and blocks new ones until this transaction ends. */
export async function lockDepartment(tx: Tx, tenantId: string, id: string): Promise<void> {
  tx.later(sql.unsafe`select 1 from departments where tenant_id = ${tenantId} and id = ${id} for update`)
}

interface DepartmentToWrite {
  tenantId: string
  id: string
  name: string
  description: string
  parentId: string | null
  at: number
}

/** Inserts a department and gives it as it is now. The caller has locked its parent. */
export function insertDepartment(tx: Tx, department: DepartmentToWrite): Department {
  const { tenantId, id, name, description, parentId } = department
  const at = instant(department.at)
  tx.later(sql.unsafe`
    insert into departments (tenant_id, id, name, description, parent_id, created_at, updated_at)
    values (${tenantId}, ${id}, ${name}, ${description}, ${parentId}, ${at}, ${at})`)
  addToCount(tx, tenantId, 'departments')
  const times = { created_at: department.at, updated_at: department.at }
  return { id, name, description, parent_id: parentId, version: 1, member_count: 0, ...times }
}

/** Whether `id` is `candidateId` or one of its ancestors. Reliable only while the tenant is locked. */
export function isAtOrAbove(tx: Tx, tenantId: string, id: string, candidateId: string): Promise<boolean> {
  return tx.oneFirst(sql.type(aboveRow)`
    with recursive upwards as (
      select id, parent_id from departments where tenant_id = ${tenantId} and id = ${candidateId}
      union
      select d.id, d.parent_id from departments d join upwards u on d.id = u.parent_id where d.tenant_id = ${tenantId}
    )
    select exists (select 1 from upwards where id = ${id}) as above`)
}

/** The name of a department behind those above it, the highest first; none if there is no such one. */
export function listNamesDownTo(read: Read, tenantId: string, id: string): Promise<readonly string[]> {
  return read.anyFirst(sql.type(nameRow)`
    with recursive upwards as (
      select parent_id, name, 0 as height from departments where tenant_id = ${tenantId} and id = ${id}
      union all
      select d.parent_id, d.name, u.height + 1 from departments d join upwards u on d.id = u.parent_id
      where d.tenant_id = ${tenantId}
    )
    select name from upwards order by height desc`)
}

/**
 * Whether one of these people, or a service account, would move with the department `id`, or get it below their own
 * department: both change what policies permit them. Reliable only while the tenant is locked.
 */
export function movesSubjects(
  tx: Tx,
  tenantId: string,
  { id, parentId, subjects }: { id: string; parentId: string | null; subjects: readonly string[] },
): Promise<boolean> {
  return tx.oneFirst(sql.type(movesRow)`
    with recursive below as (
      select id from departments where tenant_id = ${tenantId} and id = ${id}
      union
      select d.id from departments d join below b on d.parent_id = b.id where d.tenant_id = ${tenantId}
    ), above as (
      select id, parent_id from departments where tenant_id = ${tenantId} and id = ${parentId}
      union
      select d.id, d.parent_id from departments d join above a on d.id = a.parent_id where d.tenant_id = ${tenantId}
    )
    select exists (
      select 1 from memberships m
      where m.tenant_id = ${tenantId} and (m.user_id = any(${sql.array(subjects, 'uuid')}) or m.kind = 'service_account')
        and m.department_id in (select id from below union all select id from above)) as moves`)
}

/** Updates a department, which the caller has locked. */
export function changeDepartment(tx: Tx, department: DepartmentToWrite): void {
  const { tenantId, id, name, description, parentId } = department
  tx.later(sql.unsafe`
    update departments set name = ${name}, description = ${description}, parent_id = ${parentId},
                           version = version + 1, updated_at = ${instant(department.at)}
    where tenant_id = ${tenantId} and id = ${id}`)
}

/** Deletes a department without members, registered resources and children; else false. Reliable only while the department is locked. */
export async function deleteEmptyDepartment(tx: Tx, tenantId: string, id: string): Promise<boolean> {
  const deleted = await tx.maybeOne(sql.type(idRow)`
    delete from departments where tenant_id = ${tenantId} and id = ${id}
      and not exists (select 1 from memberships m where m.tenant_id = ${tenantId} and m.department_id = ${id})
      and not exists (select 1 from registered_resources r where r.tenant_id = ${tenantId} and r.department_id = ${id})
      and not exists (select 1 from directory_rules d where d.tenant_id = ${tenantId} and d.department_id = ${id})
      and not exists (select 1 from departments c where c.tenant_id = ${tenantId} and c.parent_id = ${id})
    returning id`)
  if (deleted) addToCount(tx, tenantId, 'departments', -1)
  return deleted !== null
}
