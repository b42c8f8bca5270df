import type { DataType } from '../compile/conditions.ts'

interface BuiltIn {
  readonly type: DataType
  readonly description: string
}

const entry = (type: DataType, description: string): BuiltIn => ({ type, description })

/** The attributes that the service provides, keyed `<category>.<key>`. A tenant can define more. */
export const builtInAttributes: ReadonlyMap<string, BuiltIn> = new Map([
  ['subject.id', entry('string', 'The id of the subject')],
  ['subject.email', entry('string', 'The e-mail address, in lower case; missing until it is verified')],
  ['subject.email_verified', entry('boolean', 'Whether the address was verified')],
  ['subject.roles', entry('array', 'The names of all roles in the tenant')],
  ['subject.department_id', entry('string', 'The id of the department')],
  ['subject.department_path', entry('array', 'The ids of that department and of all departments above it')],
  ['subject.manager_id', entry('string', 'The user id of the manager')],
  ['subject.membership_status', entry('string', 'active or suspended')],
  ['subject.joined_at', entry('datetime', 'When the person joined the tenant')],
  [
    'subject.acr',
    entry('string', 'aal1, or aal2 after a second factor with these tokens (the chain, claim `fid`)'),
  ],
  ['subject.auth_age', entry('integer', 'Seconds since the person signed in')],
  ['resource.type', entry('string', 'The type of the resource')],
  ['resource.id', entry('string', 'The id of the resource')],
  ['resource.owner_id', entry('string', 'The id of its owner')],
  ['resource.owner_manager_id', entry('string', 'The user id of the manager of its owner')],
  ['resource.name', entry('string', 'The name of the resource')],
  [
    'resource.email',
    entry('string', 'The e-mail address of the resource; of a person, missing until it is verified'),
  ],
  ['resource.status', entry('string', 'The status of the resource')],
  ['resource.department_id', entry('string', 'The id of the department it belongs to')],
  ['resource.manager_id', entry('string', 'The user id of the manager of the member')],
  ['resource.user_id', entry('string', 'The id of the user it is about')],
  ['resource.roles', entry('array', 'The names of the roles it has or grants')],
  ['resource.is_system', entry('boolean', 'Whether it is built in, the same in every tenant')],
  ['resource.created_at', entry('datetime', 'When it was created')],
  ['action.name', entry('string', 'The action, as resource:verb')],
  ['environment.time', entry('datetime', 'The time of the request')],
  ['environment.hour', entry('integer', 'The hour of the request in the time zone of the tenant, 0 to 23')],
  [
    'environment.weekday',
    entry('integer', 'The day of the week in the time zone of the tenant, 1 (Monday) to 7'),
  ],
  ['environment.ip', entry('ip', 'The address the request came from')],
  ['environment.user_agent', entry('string', 'The User-Agent of the request')],
])

/** The types of built-in attributes, by name; names that are none are left out. */
export const typesOf = (names: readonly string[]): Record<string, DataType> =>
  Object.fromEntries(
    [...builtInAttributes].filter(([name]) => names.includes(name)).map(([name, { type }]) => [name, type]),
  )
