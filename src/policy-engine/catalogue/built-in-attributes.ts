import type { DataType } from '../compile/conditions.ts'

interface BuiltIn {
  readonly type: DataType
  readonly description: string
}

const entry = (type: DataType, description: string): BuiltIn => ({ type, description })

/** The attributes the service itself knows, keyed `<category>.<key>`; a tenant's own are beside these. */
export const builtInAttributes: ReadonlyMap<string, BuiltIn> = new Map([
  ['subject.id', entry('string', 'The id of who asks')],
  ['subject.email', entry('string', 'The e-mail address, in lower case; missing until it is verified')],
  ['subject.email_verified', entry('boolean', 'Whether the address was verified')],
  ['subject.roles', entry('array', 'The names of all roles in the tenant')],
  ['subject.department_id', entry('string', 'The id of the department')],
  ['subject.membership_status', entry('string', 'active or suspended')],
  ['subject.joined_at', entry('datetime', 'When the person joined the tenant')],
  ['subject.acr', entry('string', 'aal1, or aal2 once a second factor was shown in this session')],
  ['subject.auth_age', entry('integer', 'Seconds since the person signed in')],
  ['resource.type', entry('string', 'The type of what is acted on')],
  ['resource.id', entry('string', 'The id of what is acted on')],
  ['resource.owner_id', entry('string', 'The id of the person it belongs to')],
  ['resource.name', entry('string', 'The name of what is acted on')],
  ['resource.email', entry('string', 'The e-mail address of what is acted on')],
  ['resource.status', entry('string', 'The status of what is acted on')],
  ['resource.department_id', entry('string', 'The id of the department it belongs to')],
  ['resource.user_id', entry('string', 'The id of the person it is about')],
  ['resource.roles', entry('array', 'The names of the roles it has or gives')],
  ['resource.is_system', entry('boolean', 'Whether it is part of every tenant')],
  ['resource.created_at', entry('datetime', 'When it was made')],
  ['action.name', entry('string', 'The action, as resource:verb')],
  ['environment.time', entry('datetime', 'The time of the request')],
  ['environment.hour', entry('integer', 'The hour of the request in the time zone of the tenant, 0 to 23')],
  [
    'environment.weekday',
    entry('integer', 'The day of the week in the time zone of the tenant, 1 (Monday) to 7'),
  ],
  ['environment.ip', entry('ip', 'The address the request came from')],
  ['environment.user_agent', entry('string', 'The program the request came from')],
])
