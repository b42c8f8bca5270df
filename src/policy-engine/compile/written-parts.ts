import { z } from 'zod'
import { writtenObligations } from './obligations.ts'
import { approvalSchema, subjectsSchema } from './policy-document.ts'

const anything = z.unknown()

const group = z.object({
  get all() {
    return z.array(conditions)
  },
  get any() {
    return z.array(conditions)
  },
  get none() {
    return z.array(conditions)
  },
})
const leaf = z.object({ attribute: anything, operator: anything, value: anything, value_from: anything })
const conditions: z.ZodType = z.union([group, leaf])

/** The members of the parts of a policy that `compilePolicy` checks, as authors write them. They validate no values. */
export const writtenParts = {
  subjects: subjectsSchema,
  conditions,
  approval: approvalSchema,
  obligations: writtenObligations,
}
