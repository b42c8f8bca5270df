import { isDeepStrictEqual } from 'node:util'
import type { Tx } from '../../database/executor/transaction.ts'
import { type FieldError, validationError } from '../../errors.ts'
import type { DataType } from '../../policy-engine/compile/conditions.ts'
import { normalised } from '../../policy-engine/evaluate/attributes.ts'
import { listSubjectAttributes, type SubjectAttribute } from './store.ts'

/**
 * Throws 400 unless a member's attributes match the subject attributes that the tenant defined: known keys, values of
 * the declared type, allowed values only, and every required attribute present.
 */
export async function checkAttributes(
  tx: Tx,
  tenantId: string,
  attributes: Readonly<Record<string, unknown>>,
): Promise<void> {
  const definitions = await listSubjectAttributes(tx, tenantId)
  const errors = attributeFaults(attributes, definitions, 'Members')
  if (errors.length > 0) throw validationError(...errors)
}

/** The faults of attributes that do not match their definitions. `who` has the attributes, in the plural. */
export function attributeFaults(
  attributes: Readonly<Record<string, unknown>>,
  definitions: readonly SubjectAttribute[],
  who: 'Members' | 'Resources',
): FieldError[] {
  const byKey = new Map(definitions.map((definition) => [definition.key, definition]))
  const errors = Object.entries(attributes).flatMap(([key, value]) => {
    const definition = byKey.get(key)
    return definition ? faultOf(key, value, definition) : [undefinedKey(key, who)]
  })
  for (const { key, is_required } of definitions)
    if (is_required && !Object.hasOwn(attributes, key))
      errors.push(attributeFault(key, 'required', `The attribute ${key} is required.`))
  return errors
}

const undefinedKey = (key: string, who: 'Members' | 'Resources') => {
  const category = who === 'Members' ? 'subject' : 'resource'
  const detail = `${who} have no attribute "${key}". Define it first, with the category ${category}.`
  return attributeFault(key, 'unknown', detail)
}

/** A fault of the attribute with this key. */
export const attributeFault = (key: string, code: string, detail: string): FieldError => ({
  field: `attributes.${key}`,
  code,
  detail,
})

function faultOf(key: string, value: unknown, { data_type, allowed_values }: SubjectAttribute): FieldError[] {
  if (!isOfType(value, data_type))
    return [attributeFault(key, 'invalid', `The attribute ${key} must be ${typeNames[data_type]}.`)]
  if (allowed_values === null || isAllowed(value, allowed_values, data_type)) return []
  const allowed = allowed_values.join(', ')
  return [attributeFault(key, 'invalid', `The attribute ${key} must be one of ${allowed}.`)]
}

/** The name of each type in an error message. */
export const typeNames: Record<DataType, string> = {
  string: 'a text of at most 1024 characters',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  datetime: 'an RFC 3339 date and time, such as 2026-11-21T09:30:00Z',
  ip: 'an IP address',
  array: 'a list of at most 128 texts, numbers or booleans',
}

/** Whether a value has the declared type, so that policies can compare it. */
export const isOfType = (value: unknown, type: DataType): boolean => normalised(value, type) !== undefined

/** Each entry of a list must be an allowed value. */
function isAllowed(value: unknown, allowed: readonly unknown[], type: DataType): boolean {
  const scalar = type === 'array' ? undefined : type
  const canonical = (one: unknown) => (scalar ? normalised(one, scalar) : one)
  const values = Array.isArray(value) ? value : [value]
  return values.every((one) => allowed.some((other) => isDeepStrictEqual(canonical(one), canonical(other))))
}
