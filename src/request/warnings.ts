import { z } from 'zod'
import { warningCodes } from '../policy-engine/compile/policy-document.ts'

/** In the answer to a change: parts that are stored as they are, and are probably mistakes. */
export const warningsSchema = z
  .array(
    z.object({
      code: z.enum(warningCodes),
      pointer: z.string(),
      detail: z.string(),
      meant: z
        .string()
        .nullable()
        .optional()
        .meta({ description: 'For the codes `unknown_…`: the known name that was probably meant' }),
    }),
  )
  .optional()
  .meta({ description: 'After a change: parts that are stored as they are, and are probably mistakes' })
