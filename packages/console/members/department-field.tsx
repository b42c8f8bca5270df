import { SelectField } from '../parts/field.tsx'
import { useDepartments } from './queries.ts'
import { texts } from './texts.ts'

/** Chooses a department. It appears once the departments are loaded, because its first value has to be among them. */
export function DepartmentField({ known = null }: { known?: string | null }) {
  const departments = useDepartments().data?.results ?? []
  if (departments.length === 0) return null
  return (
    <SelectField label={texts.editing.department} name="department" defaultValue={known ?? ''}>
      <option value="">{texts.noDepartment}</option>
      {known && !departments.some(({ id }) => id === known) && <option value={known}>{known}</option>}
      {departments.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </SelectField>
  )
}
