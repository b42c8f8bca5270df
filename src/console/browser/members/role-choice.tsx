import type { Role } from '../../../client/api-types.ts'
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
        <label className="choice" key={id}>
          <input type="checkbox" name="roles" value={name} defaultChecked={chosen.includes(name)} />
          <span>
            <strong>
              <bdi>{name}</bdi>
            </strong>
            <bdi className="muted small">{isSystem ? texts.systemRoles[name] : description}</bdi>
          </span>
        </label>
      ))}
    </fieldset>
  )
}
