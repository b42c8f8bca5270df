import { z } from 'zod'
import { bodyId, rfc3339, timestamp } from '../../request/body/schemas.ts'
import type { RuleRow } from './store.ts'

export const newRule = z
  .object({
    group: bodyId.meta({ description: 'The id of a group of the directory' }),
    roles: z
      .array(
        z.string('Give each role as text.').max(64, 'This is no role.'),
        'Give roles as a list of names or ids.',
      )
      .max(20, 'A rule can give at most 20 roles.')
      .default([]),
    department_id: bodyId.nullable().default(null),
  })
  .refine(({ roles, department_id }) => roles.length > 0 || department_id !== null, {
    path: ['roles'],
    error: 'Give roles or a department.',
  })
export type NewRule = z.output<typeof newRule>

export const ruleSchema = z
  .object({
    id: z.uuid(),
    group: z.uuid(),
    group_name: z.string(),
    roles: z.array(z.uuid()).meta({ description: 'Ids of roles' }),
    department_id: z.uuid().nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'DirectoryRule' })

export const showRule = ({ group_id: group, created_at, ...row }: RuleRow) => ({
  ...row,
  group,
  created_at: rfc3339(created_at),
})

export const ruleResource = (row: RuleRow) => ({ type: 'directory', id: row.id, fields: showRule(row) })

/** The fields of a rule that the audit log records. */
export const auditedRule = ({ group_id, roles, department_id }: RuleRow) => ({
  group: group_id,
  roles,
  department_id,
})
