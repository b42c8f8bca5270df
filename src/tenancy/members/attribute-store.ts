import { z } from 'zod'
import { sql, type Tx } from '../../platform/db/transaction.ts'
import { dataTypes } from '../../policy-engine/compile/conditions.ts'

const subjectAttribute = z.object({
  key: z.string(),
  data_type: z.enum(dataTypes),
  allowed_values: z.array(z.unknown()).nullable(),
  is_required: z.boolean(),
})

/** An attribute that members may carry. */
export type SubjectAttribute = z.infer<typeof subjectAttribute>

/** The attributes that the tenant has defined for its members. */
export function listSubjectAttributes(tx: Tx, tenantId: string): Promise<readonly SubjectAttribute[]> {
  return tx.any(sql.type(subjectAttribute)`
    select key, data_type, allowed_values, is_required from attribute_definitions
    where tenant_id = ${tenantId} and category = 'subject' order by key`)
}
