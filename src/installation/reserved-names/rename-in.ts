type Rename = (name: string) => string

/** The members that list resource types, actions or permissions. */
const lists: ReadonlySet<string> = new Set([
  'actions',
  'resource_types',
  'resourceTypes',
  'permissions',
  'scopes',
])
const namingAttributes: ReadonlySet<unknown> = new Set(['action.name', 'resource.type'])

/**
 * A role, a key, a policy, its compiled form or a manifest, as JSON, with `rename` applied to each name of a resource type,
 * action or permission: in lists, in the resource types that a manifest declares, and in comparisons of `action.name` and
 * `resource.type`. Other text stays as it is.
 */
export const renameIn = <T>(value: T, rename: Rename): T => walk(value, rename, false) as T

function walk(value: unknown, rename: Rename, isName: boolean): unknown {
  if (typeof value === 'string') return isName ? rename(value) : value
  if (Array.isArray(value)) return value.map((item) => walk(item, rename, isName))
  if (typeof value !== 'object' || value === null) return value
  const object = value as Record<string, unknown>
  // A comparison has `attribute` and `value` as its author wrote it, and `k` and `v` compiled.
  const compares = namingAttributes.has(object.attribute) || namingAttributes.has(object.k)
  return Object.fromEntries(
    Object.entries(object).map(([key, member]) => {
      const holdsNames = lists.has(key) || (compares && (key === 'value' || key === 'v'))
      const isDeclaration = key === 'resource_types' && !Array.isArray(member)
      return [key, isDeclaration ? renamedKeys(Object(member), rename) : walk(member, rename, holdsNames)]
    }),
  )
}

const renamedKeys = (types: Record<string, unknown>, rename: Rename) =>
  Object.fromEntries(
    Object.entries(types).map(([type, member]) => [rename(type), walk(member, rename, false)]),
  )

/** The resource of a type, an action or a permission. */
export const resourceOf = (name: string): string => name.split(':', 1)[0]!

/** The names in a document whose resources are among `resources`. */
export function namesIn(document: unknown, resources: ReadonlySet<string>): string[] {
  const found = new Set<string>()
  renameIn(document, (name) => {
    if (resources.has(resourceOf(name))) found.add(name)
    return name
  })
  return [...found]
}

/** The resources that a text of Rego names in quotes, alone or in an action. */
export const quotedIn = (module: string, resources: Iterable<string>): string[] =>
  [...resources].filter((resource) =>
    ['"', '`'].some((quote) => [quote, ':'].some((end) => module.includes(`${quote}${resource}${end}`))),
  )
