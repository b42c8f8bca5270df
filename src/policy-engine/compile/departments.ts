import type { DataType } from './conditions.ts'

/** The parent of each department of a tenant; null at the top. */
export type Departments = ReadonlyMap<string, string | null>

// `in_department` compares what the host derives from an attribute with the id of a department: the path of the
// department (its own id and those of all departments above), and its id if the tenant has such a department.
const path = 'path:'
const department = 'department:'

/** The name of the path of the department that an attribute names. */
export const pathName = (attribute: string): string => path + attribute

/** The name of the department that an attribute names; it has no value unless the tenant has this department. */
export const departmentName = (attribute: string): string => department + attribute

/** A derived name in its parts; null for the name of an attribute. */
export function derivedFrom(name: string): { attribute: string; type: DataType } | null {
  if (name.startsWith(path)) return { attribute: name.slice(path.length), type: 'array' }
  if (name.startsWith(department)) return { attribute: name.slice(department.length), type: 'string' }
  return null
}

/** The attribute of a name that policies read: itself, or what it is derived from. */
export const attributeOf = (name: string): string => derivedFrom(name)?.attribute ?? name

/** The levels that a path can have; a longer one counts as ill-typed, so it permits nothing. */
export const maxLevels = 128

/** The ids of a department and of all above it, the top one last; undefined for a department that the tenant does not have. */
export function departmentPath(departments: Departments, id: string): string[] | undefined {
  const path: string[] = []
  let at: string | null = id.toLowerCase()
  if (!departments.has(at)) return undefined
  while (at !== null && path.length <= maxLevels) {
    path.push(at)
    at = departments.get(at) ?? null
  }
  return path
}
