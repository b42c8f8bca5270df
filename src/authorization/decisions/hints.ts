import { z } from 'zod'
import type { UnknownWords } from '../../platform/http/policies-in-force.ts'

/** What may be wrong with a question that was answered. */
export const hintsShape = {
  missing_attributes: z.array(z.string()).meta({
    description:
      'Attributes that policies looked at and the question lacked, or had of another type; 64 at most',
  }),
  unknown_action: z
    .boolean()
    .meta({ description: 'No policy in force and no role of the tenant names the action' }),
  unknown_resource_type: z.boolean().meta({
    description: 'No policy in force and no role of the tenant names the type of the resource',
  }),
}

export interface Hints {
  missing_attributes: string[]
  unknown_action: boolean
  unknown_resource_type: boolean
}

/** The hints for a reader; `whole` for one who may ask about everybody: what policies look at in members is the tenant's. */
export const hintsOf = (
  whole: boolean,
  missing: readonly string[] = [],
  unknown: UnknownWords = { action: false, resourceType: false },
): Hints => ({
  missing_attributes: missing.filter((name) => whole || !name.startsWith('subject.')),
  unknown_action: unknown.action,
  unknown_resource_type: unknown.resourceType,
})
