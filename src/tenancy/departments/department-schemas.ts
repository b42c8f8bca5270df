import { z } from 'zod'
import { bodyId, rfc3339, timestamp } from '../../request/body/schemas.ts'
import type { Department } from './store.ts'

const departmentName = z
  .string('Give the name as text.')
  .trim()
  .min(1, 'Give the department a name.')
  .refine((text) => [...text].length <= 120, 'A name can have at most 120 characters.')
  .meta({ maxLength: 120, example: 'Sales' })

const description = z
  .string('Give the description as text.')
  .refine((text) => [...text].length <= 2000, 'A description can have at most 2000 characters.')

export const newDepartment = z.object({
  name: departmentName,
  description: description.default(''),
  parent_id: bodyId.nullable().default(null),
})

export type NewDepartment = z.output<typeof newDepartment>

export const departmentChange = z.object({
  name: departmentName.optional(),
  description: description.optional(),
  parent_id: bodyId.nullable().optional(),
})

export type DepartmentChange = z.output<typeof departmentChange>

export const departmentSchema = z
  .object({
    id: z.uuid(),
    name: z.string(),
    description: z.string(),
    parent_id: z.uuid().nullable(),
    member_count: z.int(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Department' })

/** The fields of a department that the audit log records. */
export const auditedDepartment = ({ name, description, parent_id }: Department) => ({
  name,
  description,
  parent_id,
})

export const showDepartment = (row: Department) => ({
  id: row.id,
  name: row.name,
  description: row.description,
  parent_id: row.parent_id,
  member_count: row.member_count,
  created_at: rfc3339(row.created_at),
  updated_at: rfc3339(row.updated_at),
})

/** A department as a resource in policies. */
export const departmentResource = (department: Department) => ({
  type: 'department',
  id: department.id,
  fields: showDepartment(department),
})
