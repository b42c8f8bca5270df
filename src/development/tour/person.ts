import { randomBytes } from 'node:crypto'
import type { Walk } from './walk.ts'

/** The body of a registration. The address is random, so that two tours never use the same one. */
export const newPerson = (firstName: string, lastName: string) => ({
  email: `${firstName.toLowerCase()}.${randomBytes(4).toString('hex')}@example.com`,
  password: `a quiet harbour ${randomBytes(3).toString('hex')}`,
  first_name: firstName,
  last_name: lastName,
})

/** Registers a person, and stores id, address and password as the facts `<name>.id`, `.email` and `.password`. */
export async function register(walk: Walk, name: string, firstName: string, lastName: string): Promise<void> {
  const body = newPerson(firstName, lastName)
  const { email, password } = body
  const call = { method: 'POST', path: '/api/v1/auth/register/', body } as const
  const { id } = await walk.call(call, { status: 201, body: { email } })
  Object.assign(walk.facts, {
    [`${name}.id`]: id,
    [`${name}.email`]: email,
    [`${name}.password`]: password,
  })
}
