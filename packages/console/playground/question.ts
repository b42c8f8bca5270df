import { parsed } from '../policies/json-field.tsx'

/** A question to a policy, as its fields hold it. */
export interface Question {
  /** An id or an address; empty: the person who asks. */
  person: string
  /** Roles to suppose, separated by commas; empty: those that the person has. */
  roles: string
  action: string
  type: string
  id: string
  /** Fields of the object, as JSON. */
  properties: string
  /** Attributes of the person, as JSON. */
  attributes: string
  /** RFC 3339, or as a field for times gives it; empty: now. */
  time: string
  ip: string
}

export const emptyQuestion: Question = {
  person: '',
  roles: '',
  action: '',
  type: '',
  id: '',
  properties: '',
  attributes: '',
  time: '',
  ip: '',
}

/** A question in the form of the API. */
export interface TestInput {
  subject?: { id?: string; roles?: string[]; properties?: Record<string, unknown> }
  action?: string | { name: string }
  resource?: { type: string; id?: string | null; properties?: Record<string, unknown> }
  context?: Record<string, unknown>
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a field with JSON is empty or holds an object. */
export const isProperties = (text: string): boolean => text.trim() === '' || isObject(parsed(text))

const propertiesOf = (text: string) => {
  const value = parsed(text)
  return isObject(value) ? { properties: value } : {}
}

/** The body that asks it. What is empty is left out, and so gets its default. */
export function inputOf(question: Question): TestInput {
  const { person, roles, action, type, id, properties, attributes, time, ip } = question
  const names = roles.split(',').flatMap((role) => role.trim() || [])
  const subject = {
    ...(person.trim() && { id: person.trim() }),
    ...(names.length > 0 && { roles: names }),
    ...propertiesOf(attributes),
  }
  const object = type.trim() || action.split(':')[0]?.trim()
  const resource = { type: object ?? '', ...(id.trim() && { id: id.trim() }), ...propertiesOf(properties) }
  const date = new Date(time)
  const context = {
    ...(time && { time: Number.isNaN(date.getTime()) ? time : date.toISOString() }),
    ...(ip.trim() && { ip: ip.trim() }),
  }
  return {
    ...(Object.keys(subject).length > 0 && { subject }),
    ...(action.trim() && { action: action.trim() }),
    ...(object && { resource }),
    ...(Object.keys(context).length > 0 && { context }),
  }
}

const textOf = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value)

/** The same backwards, for questions that were written elsewhere. What the fields do not know is dropped. */
export function questionOf(input: unknown): Question {
  const { subject, action, resource, context } = (isObject(input) ? input : {}) as TestInput
  return {
    person: textOf(subject?.id),
    roles: Array.isArray(subject?.roles) ? subject.roles.join(', ') : '',
    action: textOf(isObject(action) ? action.name : action),
    type: textOf(resource?.type),
    id: textOf(resource?.id),
    properties: textOf(resource?.properties),
    attributes: textOf(subject?.properties),
    time: textOf(context?.time),
    ip: textOf(context?.ip),
  }
}
