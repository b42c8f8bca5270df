import { invalidField } from '../../errors.ts'
import type { Attribute } from '../schema/attributes.ts'
import { sameName } from './attribute-path.ts'

// biome-ignore lint/suspicious/noExplicitAny: JSON
export type Json = any

const maxText = 4_096
const maxItems = 500

export const assertFew = (attribute: Attribute, items: readonly unknown[]): void => {
  if (items.length > maxItems)
    throw invalidField(attribute.name, `${attribute.name} can have at most ${maxItems} values.`)
}

/** The members of an object of attributes. 400 for a name with spaces around it, or a second one that differs in case alone. */
export function attributesIn(body: object): [string, unknown][] {
  const entries = Object.entries(body)
  const seen = new Set<string>()
  for (const [name] of entries) {
    const key = name.toLowerCase()
    if (key !== key.trim() || seen.has(key))
      throw invalidField('value', `Name ${name.trim().slice(0, 200)} once, without spaces around it.`)
    seen.add(key)
  }
  return entries
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a value takes an attribute away (RFC 7643 §2.5). */
export const isNothing = (value: unknown): boolean =>
  value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)

/**
 * A value in the form of its attribute; undefined for none. Texts become booleans, numbers texts, and one item a list, as
 * directories send them. What the attribute does not have is dropped. 400 `validation_error`.
 */
export function attributeValue(attribute: Attribute, value: unknown): Json {
  if (isNothing(value)) return undefined
  if (!attribute.multiValued) return singleValue(attribute, value)
  const items = Array.isArray(value) ? value : [value]
  assertFew(attribute, items)
  return withOnePrimary(
    items.map((item) => singleValue(attribute, item)).filter((item) => item !== undefined),
  )
}

/** The same for one value of a list. */
export function singleValue(attribute: Attribute, value: unknown): Json {
  if (isNothing(value)) return undefined
  switch (attribute.type) {
    case 'complex':
      return complexValue(attribute, value)
    case 'boolean':
      if (typeof value === 'boolean') return value
      if (typeof value === 'string' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true'
      throw invalidField(attribute.name, `${attribute.name} must be true or false.`)
    case 'any':
      return Array.isArray(value)
        ? value.slice(0, maxItems).map((item) => plainValue(attribute, item))
        : plainValue(attribute, value)
    default:
      return textValue(attribute, value)
  }
}

const plainValue = (attribute: Attribute, value: unknown): Json =>
  typeof value === 'number' || typeof value === 'boolean' ? value : textValue(attribute, value)

function textValue({ name }: Attribute, value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
    throw invalidField(name, `${name} must be a text.`)
  const text = String(value)
  if (text.length > maxText) throw invalidField(name, `${name} can have at most ${maxText} characters.`)
  return text
}

function complexValue(attribute: Attribute, value: unknown): Json {
  const subs = attribute.subAttributes ?? []
  // Entra sends a manager, and some directories an address, as a text.
  if (!isObject(value)) return complexValue(attribute, { value: textValue(attribute, value) })
  const whole: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) {
    const sub = subs.find((one) => sameName(one.name, name))
    const given = sub && sub.mutability !== 'readOnly' ? singleValue(sub, member) : undefined
    if (given !== undefined) whole[sub!.name] = given
  }
  return Object.keys(whole).length === 0 ? undefined : whole
}

/** Of several primary values the last one stays it (RFC 7643 §2.4). */
export function withOnePrimary(items: Json[]): Json[] {
  const last = items.findLastIndex((item) => item?.primary === true)
  return items.map((item, i) => (item?.primary === true && i !== last ? { ...item, primary: false } : item))
}
