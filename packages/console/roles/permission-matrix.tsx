import { actionNames, permissions } from '../api/names.ts'

/** The permissions of the service that a role can give, by what they are about. */
function grouped(): [string, string[]][] {
  const groups = new Map<string, string[]>()
  for (const name of permissions) {
    const [resource = ''] = name.split(':')
    groups.set(resource, [...(groups.get(resource) ?? []), name])
  }
  return [...groups]
}

/** The permissions that a role can give, by the kind of object. */
export const permissionGroups = grouped()
export const isOfService = (permission: string): boolean =>
  (actionNames as readonly string[]).includes(permission)

/** Whether a role's list gives a permission: by its name, or by `resource:*`. */
const gives = (held: readonly string[], permission: string) =>
  held.includes(permission) || held.includes(`${permission.split(':')[0]}:*`)

/** Check boxes for the permissions of the service: a row for each kind of object. */
export function PermissionMatrix({
  label,
  held,
  fixed,
}: {
  label: string
  held: readonly string[]
  /** Only shown, for the roles that are built in. */
  fixed?: boolean
}) {
  return (
    <fieldset className="choices">
      <legend className="field-label">{label}</legend>
      <div className="matrix">
        {permissionGroups.map(([resource, names]) => (
          <div className="matrix-row" key={resource}>
            <span className="matrix-name">{resource.replaceAll('_', ' ')}</span>
            <span className="matrix-boxes">
              {names.map((name) => (
                <label key={name}>
                  <input
                    type="checkbox"
                    className="check"
                    name="permissions"
                    value={name}
                    defaultChecked={gives(held, name)}
                    disabled={fixed}
                  />
                  {name.slice(resource.length + 1).replaceAll('_', ' ')}
                </label>
              ))}
            </span>
          </div>
        ))}
      </div>
    </fieldset>
  )
}
