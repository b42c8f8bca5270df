import { z } from 'zod'
import type { Read } from '../../database/executor/read.ts'
import { sql } from '../../database/executor/transaction.ts'

/** By what searches name people: the setting `subject_id` of a tenant. */
export const subjectIds = ['id', 'email', 'external_id'] as const

export type SubjectId = (typeof subjectIds)[number]

const settingRow = z.object({ subject_id: z.enum(subjectIds) })

/** The setting `subject_id` of the tenant. */
export async function findSubjectId(read: Read, tenantId: string): Promise<SubjectId> {
  const found = await read.maybeOneFirst(sql.type(settingRow)`
    select coalesce(settings ->> 'subject_id', 'id') as subject_id from tenants where id = ${tenantId}`)
  return found ?? 'id'
}
