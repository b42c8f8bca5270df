import { type FieldError, validationError } from '../errors.ts'
import { fieldErrors } from './field-errors.ts'
import { knownIn } from './known-members.ts'
import { pointerTo } from './locate.ts'
import { policyInvalid } from './policy-invalid.ts'
import type { Route } from './route.ts'
import { named, type UnknownMember, unknownMember, unknownMembers } from './unknown-members.ts'

/**
 * Makes the step that validates the body of a route, below `/api/v1/` also for names that it does not know. Throws 400 with
 * all faults, and 422 `policy_invalid` for unknown members of a policy, with their positions in `text`.
 */
export function bodyValidator({ body: schema, answer, path }: Route) {
  if (!schema) return (value: unknown): unknown => value
  // The standards of other paths ignore what they do not know.
  const known = path.startsWith('/api/v1/') ? knownIn(schema) : null
  const shown = answer && knownIn(answer)
  return (value: unknown, text: () => string): unknown => {
    const unknown = known ? unknownMembers(known, shown, value) : []
    const ofPolicies = unknown.filter(({ refuses }) => refuses === 'policy_invalid')
    if (ofPolicies.length > 0) throw policyInvalid(ofPolicies.map(unknownMember), text())
    const result = schema.safeParse(value)
    if (result.success && unknown.length === 0) return result.data
    const faults = result.success ? [] : fieldErrors(result.error, value)
    throw validationError(...unknown.map(refusedMember), ...faults)
  }
}

function refusedMember(unknown: UnknownMember): FieldError {
  const field = unknown.path.join('.')
  if (unknown.refuses) return { field, ...unknownMember(unknown) }
  const { path, meant } = unknown
  return {
    field,
    pointer: pointerTo(path),
    code: 'unknown_field',
    detail: `There is no field ${named(path)} here. Did you mean ${meant}?`,
    meant,
  }
}
