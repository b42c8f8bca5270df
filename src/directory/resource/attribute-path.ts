import { attributeKey } from '../../policy-engine/catalogue/attribute-keys.ts'
import {
  type Attribute,
  commonAttributes,
  openAttribute,
  type ResourceType,
  type Schema,
} from '../schema/attributes.ts'
import { type Filter, parseFilter } from './parse-filter.ts'

/** Where an operation or a projection points to (RFC 7644 §3.10 and §3.5.2). */
export interface AttributePath {
  /** The extension that the attribute is of; null for the core. */
  extension: Schema | null
  /** Null for an extension as a whole. */
  attribute: Attribute | null
  /** Of `emails[type eq "work"]`. */
  filter: Filter | null
  sub: Attribute | null
}

export const sameName = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase()

const find = (attributes: readonly Attribute[], name: string): Attribute | null =>
  attributes.find((one) => sameName(one.name, name)) ?? null

/** The attributes of a kind of resource without those of its extensions. */
export const coreAttributes = ({ schema }: ResourceType): readonly Attribute[] => [
  ...schema.attributes,
  ...commonAttributes,
]

/** The rest of a path behind the urn of a schema; null if it does not begin with it. Entra writes `:manager` and `.manager`. */
function behind(urn: string, text: string): string | null {
  if (!text.toLowerCase().startsWith(urn.toLowerCase())) return null
  const rest = text.slice(urn.length)
  return rest === '' ? '' : /^[:.]/.test(rest) ? rest.slice(1) : null
}

/** The attribute that a path names; null for an unknown one. 400 `invalid_filter` for a filter in it that is none. */
export function attributePath(type: ResourceType, text: string): AttributePath | null {
  for (const extension of type.extensions) {
    const rest = behind(extension.id, text.trim())
    if (rest === '') return { extension, attribute: null, filter: null, sub: null }
    if (rest !== null) return inside(extension, extension.attributes, rest)
  }
  return inside(null, coreAttributes(type), behind(type.schema.id, text.trim()) ?? text.trim())
}

function inside(
  extension: Schema | null,
  attributes: readonly Attribute[],
  text: string,
): AttributePath | null {
  const [, name = '', condition, subName] = /^([\w$-]+)(?:\[(.*)\])?(?:\.([\w$-]+))?$/s.exec(text) ?? []
  const open = extension?.isOpen && attributeKey.test(name) ? openAttribute(name) : null
  const attribute = find(attributes, name) ?? open
  if (!attribute) return null
  const sub = subName === undefined ? null : find(attribute.subAttributes ?? [], subName)
  if (subName !== undefined && !sub) return null
  if (condition !== undefined && !attribute.multiValued) return null
  return { extension, attribute, filter: condition === undefined ? null : parseFilter(condition), sub }
}
