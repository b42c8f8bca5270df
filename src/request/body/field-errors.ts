import type { ZodError, ZodType, z } from 'zod'
import { type FieldError, validationError } from '../../errors.ts'
import { pointerTo } from '../../text/json-pointer.ts'

/** Validates a value. Throws 400 with its faults. */
export function parsed(schema: ZodType | undefined, value: unknown): unknown {
  if (!schema) return value
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw validationError(...fieldErrors(result.error, value))
}

/**
 * The faults that a schema finds in `value`, as the errors of a 400. A missing field is `required`, and its sentence
 * says so.
 */
export const fieldErrors = (error: ZodError, value: unknown): FieldError[] =>
  error.issues.map((issue) => faultOf(issue, value))

/** The same in a body, with pointers. */
export const bodyErrors = (error: ZodError, body: unknown): FieldError[] =>
  error.issues.map((issue) => ({
    ...faultOf(issue, body),
    ...(issue.path.length > 0 && { pointer: pointerTo(issue.path) }),
  }))

function faultOf(issue: z.core.$ZodIssue, value: unknown): FieldError {
  const { path, code, message } = issue
  const field = path.join('.')
  if (field !== '' && valueAt(value, path) === undefined)
    return { field, code: 'required', detail: `${field} is missing. ${message}` }
  if (code === 'custom') return { field, detail: message, ...ownCode(issue) }
  return { field, code: code === 'invalid_key' ? 'invalid' : code, detail: message }
}

/** The code of a rule of ours, and the nearest known name, if the rule gives them. */
export const ownCode = ({ params }: z.core.$ZodIssueCustom): Pick<FieldError, 'code' | 'meant'> => ({
  code: 'invalid',
  ...params,
})

/** The value at a path; undefined where there is none. */
export const valueAt = (root: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce((value, key) => (value as Record<PropertyKey, unknown> | null | undefined)?.[key], root)
