import { z } from 'zod'
import { type Condition, operatorsByType } from '../../policy-engine/compile/conditions.ts'

const operators = [...new Set(Object.values(operatorsByType).flat())]
const scalar = z.union([z.string(), z.number(), z.boolean()])

const comparison = z
  .object({
    attribute: z.string().meta({ description: 'A defined `category.key`', example: 'resource.tonnage' }),
    operator: z.enum(operators).meta({ description: 'One that the type of the attribute permits' }),
    value: z.union([scalar, z.array(scalar)]).optional(),
    value_from: z
      .string()
      .optional()
      .meta({ description: 'In place of `value`: another attribute of the type' }),
  })
  .meta({ id: 'Comparison' })

/** A condition as the API describes it. What is wrong with a given one, `compilePolicy` says. */
export const conditionSchema: z.ZodType<Condition> = z
  .lazy(() =>
    z.union([
      z.object({ all: z.array(conditionSchema) }),
      z.object({ any: z.array(conditionSchema) }),
      z.object({ none: z.array(conditionSchema) }),
      comparison,
    ]),
  )
  .meta({ id: 'Condition' }) as z.ZodType<Condition>
