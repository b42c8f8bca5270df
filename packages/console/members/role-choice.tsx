import type { Role } from '@bailiwick/client'
import { CheckField } from '../parts/field.tsx'
import { texts } from './texts.ts'

/** Check boxes for roles, by name. */
export function RoleChoice({
  label,
  roles,
  chosen,
}: {
  label: string
  roles: Role[]
  chosen: readonly string[]
}) {
  return (
    <fieldset className="choices">
      <legend className="field-label">{label}</legend>
      {roles.map(({ id, name, description, is_system: isSystem }) => (
        <CheckField
          key={id}
          name="roles"
          value={name}
          label={<bdi>{name}</bdi>}
          hint={<bdi>{isSystem ? texts.systemRoles[name] : description}</bdi>}
          defaultChecked={chosen.includes(name)}
        />
      ))}
    </fieldset>
  )
}
