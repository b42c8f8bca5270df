import type { Role } from '@bailiwick/client'

/**
 * The roles and the department of a form, as far as they differ from `known`. What the form did not show stays: roles
 * that are not in `shown`, and the department if there was no field for it.
 */
export function changedPlace(
  form: FormData,
  shown: readonly Role[],
  known: { roles: readonly string[]; department_id: string | null },
): { roles?: string[]; department_id?: string | null } {
  const names = new Set(shown.map(({ name }) => name))
  const roles = [...known.roles.filter((name) => !names.has(name)), ...form.getAll('roles').map(String)]
  const isSame = roles.length === known.roles.length && roles.every((name) => known.roles.includes(name))
  const chosen = form.get('department')
  const department_id = chosen === null ? known.department_id : String(chosen) || null
  return { ...(!isSame && { roles }), ...(department_id !== known.department_id && { department_id }) }
}
