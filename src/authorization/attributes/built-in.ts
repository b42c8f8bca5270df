import { createHash } from 'node:crypto'
import { withoutCase } from '../../policy-engine/catalogue/attribute-keys.ts'
import { builtInAttributes } from '../../policy-engine/catalogue/built-in-attributes.ts'
import type { categories, DefinitionRow } from './store.ts'

/** A UUID that is the same in every installation (RFC 9562 §5.8), because built-in definitions are not in a table. */
function idOf(name: string): string {
  const digest = createHash('sha256').update(`built-in attribute ${name}`).digest('hex')
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`
}

/** Earlier than all definitions of tenants, so that built-in ones come first. */
const since = Date.parse('2026-01-01T00:00:00Z')

/** The built-in attributes as definitions. */
export const builtInDefinitions: readonly DefinitionRow[] = [...builtInAttributes].map(
  ([name, { type, description }], index) => {
    const [category = '', key = ''] = name.split('.')
    return {
      id: idOf(name),
      key,
      display_name: key.replaceAll('_', ' '),
      category: category as (typeof categories)[number],
      data_type: type,
      allowed_values: null,
      is_required: false,
      description,
      source: 'registered' as const,
      managed_by: null,
      created_at: since + index,
    }
  },
)

const ids = new Set(builtInDefinitions.map(({ id }) => id))
const names = new Set(builtInAttributes.keys())

/** Whether this is the id of a built-in definition. */
export const isBuiltIn = (id: string): boolean => ids.has(id)

/** Whether `<category>.<key>` is the name of a built-in attribute, in any case. */
export const isBuiltInName = (name: string): boolean => names.has(withoutCase(name))
