import { isDeepStrictEqual } from 'node:util'
import type { Tx } from '../../platform/db/transaction.ts'
import { type FieldError, validationError } from '../../platform/errors.ts'
import type { DataType } from '../../policy-engine/compile/conditions.ts'
import { normalised } from '../../policy-engine/evaluate/attributes.ts'
import { listSubjectAttributes, type SubjectAttribute } from './attribute-store.ts'

/**
 * Throws 400 unless a member's attributes are as the tenant defined those of subjects: known keys, values of the
 * declared type and among the allowed ones, none missing that is required.
 */
export async function checkAttributes(
  tx: Tx,
  tenantId: string,
  attributes: Readonly<Record<string, unknown>>,
): Promise<void> {
  const definitions = await listSubjectAttributes(tx, tenantId)
  const byKey = new Map(definitions.map((definition) => [definition.key, definition]))
  const errors = Object.entries(attributes).flatMap(([key, value]) => faultOf(key, value, byKey.get(key)))
  for (const { key, is_required } of definitions)
    if (is_required && !Object.hasOwn(attributes, key))
      errors.push(fault(key, 'required', `The attribute ${key} is required.`))
  if (errors.length > 0) throw validationError(...errors)
}

const fault = (key: string, code: string, detail: string): FieldError => ({
  field: `attributes.${key}`,
  code,
  detail,
})

function faultOf(key: string, value: unknown, definition: SubjectAttribute | undefined): FieldError[] {
  if (!definition)
    return [
      fault(key, 'unknown', `Members have no attribute "${key}". Define it first, with category subject.`),
    ]
  const { data_type, allowed_values } = definition
  if (!isOfType(value, data_type))
    return [fault(key, 'invalid', `The attribute ${key} has to be ${typeNames[data_type]}.`)]
  if (allowed_values === null || isAllowed(value, allowed_values, data_type)) return []
  return [fault(key, 'invalid', `The attribute ${key} may be one of ${allowed_values.join(', ')}.`)]
}

/** How a type of attribute is called in a sentence. */
export const typeNames: Record<DataType, string> = {
  string: 'a text of 1024 characters at most',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  datetime: 'a moment as RFC 3339, such as 2026-11-21T09:30:00Z',
  ip: 'an IP address',
  array: 'a list of texts, numbers, or true and false, 128 at most',
}

/** Whether a value is of a declared type, so that policies can compare it. */
export const isOfType = (value: unknown, type: DataType): boolean => normalised(value, type) !== undefined

/** Of a list, each entry has to be among the allowed ones. */
function isAllowed(value: unknown, allowed: readonly unknown[], type: DataType): boolean {
  const scalar = type === 'array' ? undefined : type
  const canonical = (one: unknown) => (scalar ? normalised(one, scalar) : one)
  const values = Array.isArray(value) ? value : [value]
  return values.every((one) => allowed.some((other) => isDeepStrictEqual(canonical(one), canonical(other))))
}
