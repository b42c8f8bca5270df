import type { DataType } from '../../policy-engine/compile/conditions.ts'
import type { SubjectAttribute } from '../../tenancy/members/store.ts'
import { type Attribute, bailiwickSchema, openAttribute, type Schema } from './attributes.ts'

const types: Record<DataType, Attribute['type']> = {
  string: 'string',
  integer: 'integer',
  number: 'decimal',
  boolean: 'boolean',
  datetime: 'dateTime',
  ip: 'string',
  array: 'string',
}

/** The schema of what a tenant defines for its members; empty if it defines nothing. */
export const ownSchemas = (definitions: readonly SubjectAttribute[]): Schema[] =>
  definitions.length === 0
    ? []
    : [
        bailiwickSchema(
          definitions.map(({ key, data_type }) => ({
            ...openAttribute(key),
            type: types[data_type],
            multiValued: data_type === 'array',
            description: `subject.${key}`,
          })),
        ),
      ]

/**
 * The values of the attributes that a tenant defines, by their keys. Texts become numbers and booleans, as directories send them. What the
 * tenant does not define is left out.
 */
export function ownValues(
  definitions: readonly SubjectAttribute[],
  sent: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const byKey = new Map(Object.entries(sent).map(([key, value]) => [key.toLowerCase(), value]))
  const known = definitions.filter(({ key }) => byKey.has(key.toLowerCase()))
  return Object.fromEntries(
    known.map(({ key, data_type }) => [key, typed(data_type, byKey.get(key.toLowerCase()))]),
  )
}

function typed(type: DataType, value: unknown): unknown {
  if (type === 'array') return Array.isArray(value) ? value : [value]
  if (typeof value !== 'string') return value
  if ((type === 'integer' || type === 'number') && value.trim() !== '' && Number.isFinite(Number(value)))
    return Number(value)
  return type === 'boolean' && /^(true|false)$/i.test(value) ? value.toLowerCase() === 'true' : value
}
