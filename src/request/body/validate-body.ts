import type { ZodType } from 'zod'
import { validationError } from '../../errors.ts'
import type { Route } from '../route.ts'
import { bodyErrors } from './field-errors.ts'
import { knownIn } from './known-members.ts'
import { policyInvalid } from './policy-invalid.ts'
import { unknownField, unknownMember, unknownMembers } from './unknown-members.ts'

/** What says how a body is validated. */
type ValidatedRoute = Pick<Route, 'path' | 'access' | 'body' | 'answer'>

/**
 * Whether a body of the route can have only members that the route knows: what is dropped would widen a key, an invitation
 * or a webhook, or leave a setting as it was. Forms of sign-in repeat fields and add their own, so the routes below
 * `auth/`, and those without a token, refuse misspelt members only.
 */
export const refusesUnknownFields = ({ path, access, body }: ValidatedRoute): boolean =>
  body !== undefined && checksNames(path) && !path.startsWith('/api/v1/auth/') && access === 'token'

/** Whether the names in a body are checked. The standards of other paths ignore what they do not know. */
const checksNames = (path: string) => path.startsWith('/api/v1/') || path === '/access/v1/plan'

/** Makes the step that validates the body of a route, and its names where these are checked. */
export function bodyValidator(route: ValidatedRoute) {
  const { body, answer, path } = route
  if (!body) return (value: unknown): unknown => value
  return validatorOf(body, checksNames(path) ? { answer, isStrict: refusesUnknownFields(route) } : null)
}

/**
 * Makes a function that validates a value and, unless `names` is null, its names: `isStrict` refuses all that the schema
 * does not know, else misspelt ones; what `answer` shows can be sent back. It throws 400 with all faults, and 422
 * `policy_invalid` for unknown members of a policy, with their positions in `text`.
 */
export function validatorOf(schema: ZodType, names: { answer: ZodType | null; isStrict: boolean } | null) {
  const known = names ? knownIn(schema) : null
  const shown = names?.answer ? knownIn(names.answer) : null
  const refuses = names?.isStrict ? 'validation_error' : undefined
  return (value: unknown, text: () => string = () => ''): unknown => {
    const unknown = known ? unknownMembers(known, shown, value, refuses) : []
    const ofPolicies = unknown.filter(({ refuses }) => refuses === 'policy_invalid')
    if (ofPolicies.length > 0) throw policyInvalid(ofPolicies.map(unknownMember), text())
    const result = schema.safeParse(value)
    if (result.success && unknown.length === 0) return result.data
    const faults = result.success ? [] : bodyErrors(result.error, value)
    throw validationError(...unknown.map(unknownField), ...faults)
  }
}
