import type { Department } from '@bailiwick/client'

interface Branch {
  id: string
  department: Department
  depth: number
}

/** Departments in the order of their tree, each with its depth. One whose parent is missing stands at the top. */
export function inTree(departments: readonly Department[]): Branch[] {
  const ids = new Set(departments.map(({ id }) => id))
  const below = (parent: string | null, depth: number): Branch[] =>
    departments
      .filter(({ parent_id: id }) => (id !== null && ids.has(id) ? id : null) === parent)
      .flatMap((department) => [{ id: department.id, department, depth }, ...below(department.id, depth + 1)])
  return below(null, 0)
}
