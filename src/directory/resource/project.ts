import type { ResourceType } from '../schema/attributes.ts'
import { type AttributePath, attributePath, coreAttributes } from './attribute-path.ts'
import type { Json } from './attribute-value.ts'

/** What of a resource is asked for (RFC 7644 §3.9): lists of paths with commas. */
export interface Projection {
  attributes?: string | undefined
  excludedAttributes?: string | undefined
}

/** Makes a function that gives the part of resources that is asked for. Unknown attributes are ignored. */
export function projection(
  type: ResourceType,
  { attributes, excludedAttributes }: Projection,
): (resource: Json) => Json {
  const wanted = pathsIn(type, attributes)
  const always = coreAttributes(type).filter(({ returned }) => returned === 'always')
  const kept = new Set(['schemas', ...always.map(({ name }) => name)])
  if (wanted.length > 0) return (resource) => onlyOf(resource, wanted, kept)
  const excluded = pathsIn(type, excludedAttributes).filter(
    ({ attribute }) => attribute?.returned !== 'always',
  )
  return (resource) => excluded.reduce(without, resource)
}

/** Whether an attribute would be shown. */
export function shows(
  type: ResourceType,
  { attributes, excludedAttributes }: Projection,
  name: string,
): boolean {
  const has = (text: string | undefined) =>
    pathsIn(type, text).some(({ attribute }) => attribute?.name === name)
  return attributes ? has(attributes) : !has(excludedAttributes)
}

const pathsIn = (type: ResourceType, text = ''): AttributePath[] =>
  text
    .split(',')
    .filter((one) => one.trim() !== '')
    .slice(0, 100)
    .flatMap((one) => attributePath(type, one) ?? [])

function onlyOf(resource: Json, wanted: readonly AttributePath[], kept: ReadonlySet<string>): Json {
  const shown = Object.fromEntries(Object.entries(resource).filter(([name]) => kept.has(name)))
  const take = (from: Json, to: Json, { attribute, sub }: AttributePath) => {
    const { name } = attribute!
    const value = from?.[name]
    if (value === undefined) return
    const part = (item: Json) => (sub ? { [sub.name]: item?.[sub.name] } : item)
    if (Array.isArray(value)) to[name] = value.map((item, i) => ({ ...to[name]?.[i], ...part(item) }))
    else to[name] = sub ? { ...to[name], ...part(value) } : value
  }
  for (const path of wanted) {
    const { extension, attribute } = path
    if (!extension) take(resource, shown, path)
    else if (!attribute) shown[extension.id] = resource[extension.id]
    else if (resource[extension.id]) {
      shown[extension.id] ??= {}
      take(resource[extension.id], shown[extension.id], path)
    }
  }
  return shown
}

function without(resource: Json, { extension, attribute, sub }: AttributePath): Json {
  if (extension && !attribute) {
    const { [extension.id]: _gone, ...rest } = resource
    return rest
  }
  if (extension) {
    const inner = resource[extension.id]
    return inner ? { ...resource, [extension.id]: drop(inner, attribute!.name, sub?.name) } : resource
  }
  return drop(resource, attribute!.name, sub?.name)
}

function drop(from: Json, name: string, sub: string | undefined): Json {
  const { [name]: value, ...rest } = from
  if (sub === undefined || value === undefined) return rest
  const part = (item: Json) => drop(item, sub, undefined)
  return { ...rest, [name]: Array.isArray(value) ? value.map(part) : part(value) }
}
