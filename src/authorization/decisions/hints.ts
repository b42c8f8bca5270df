import { z } from 'zod'
import type { UnknownWords } from '../../platform/http/policies-in-force.ts'

/** Possible mistakes in an answered question. */
export const hintsShape = {
  missing_attributes: z.array(z.string()).meta({
    description: 'Attributes that policies read and the question lacked or had with another type; 64 at most',
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

/** The hints for a reader. Without `whole` (may ask about everyone), the attributes of members that policies read are left out. */
export const hintsOf = (
  whole: boolean,
  missing: readonly string[] = [],
  unknown: UnknownWords = { action: false, resourceType: false },
): Hints => ({
  missing_attributes: missing.filter((name) => whole || !name.startsWith('subject.')),
  unknown_action: unknown.action,
  unknown_resource_type: unknown.resourceType,
})
