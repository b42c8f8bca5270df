import { z } from 'zod'
import { misspelt } from '../../text/nearest-name.ts'
import { namesOnlyApplicationActions } from '../catalogue/application-actions.ts'
import { parsePart } from './parse-part.ts'
import { type Fault, type Obligation, obligationSchema, type Warning } from './policy-document.ts'

/**
 * The obligations that the service itself enforces. `mask_fields`: these fields are null in the answer. `step_up`: the
 * sign-in has this class (default `aal2`) and is at most `max_age` seconds old, if given.
 */
const ofTheService = {
  mask_fields: z.object({ fields: z.array(z.string().min(1).max(120)).min(1).max(64) }),
  step_up: z.object({
    acr: z.enum(['aal1', 'aal2'], 'acr has to be aal1 or aal2').optional(),
    max_age: z
      .int()
      .min(0)
      .max(30 * 86_400)
      .optional(),
  }),
}

/** The types of obligation on actions of the service. */
export const serviceObligations: ReadonlySet<string> = new Set(Object.keys(ofTheService))

/** The members of obligations: those of the service have members of their own. */
export const writtenObligations = z.array(
  z.union([
    z.object({ type: z.literal('mask_fields'), properties: ofTheService.mask_fields }),
    z.object({ type: z.literal('step_up'), properties: ofTheService.step_up }),
    obligationSchema,
  ]),
)

const maxObligations = 16

/** Checks the obligations of a policy on these actions; adds its faults to `faults`. */
export function checkObligations(value: unknown, actions: readonly string[], faults: Fault[]): Obligation[] {
  const obligations = parsePart(
    z.array(obligationSchema).max(maxObligations),
    value ?? [],
    '/obligations',
    faults,
  )
  return (obligations ?? []).map((obligation, index) =>
    checked(obligation, `/obligations/${index}`, actions, faults),
  )
}

function checked(
  obligation: Obligation,
  pointer: string,
  actions: readonly string[],
  faults: Fault[],
): Obligation {
  const { type, properties } = obligation
  if (type === 'mask_fields' || type === 'step_up') {
    const schema: z.ZodType<object> = ofTheService[type]
    const parsed = parsePart(schema, properties ?? {}, `${pointer}/properties`, faults)
    return { type, properties: { ...parsed } }
  }
  if (!actions.every(namesOnlyApplicationActions)) {
    const detail =
      'An obligation on an action of the service is mask_fields or step_up. Other types need a policy that names actions of your application only.'
    faults.push({ pointer: `${pointer}/type`, code: 'obligation_not_allowed', detail })
  }
  return obligation
}

/** Obligations of an application whose type nearly is one that the service enforces. Applications may not know it either. */
export const misspeltObligations = (obligations: readonly Obligation[]): Warning[] =>
  obligations.flatMap(({ type }, index) => {
    const meant = serviceObligations.has(type) ? null : misspelt(type, serviceObligations)
    if (meant === null) return []
    const detail = `The service enforces ${meant}, not ${type.slice(0, 64)}: your application has to know what it demands.`
    return [{ pointer: `/obligations/${index}/type`, code: 'unknown_obligation', detail, meant }]
  })
