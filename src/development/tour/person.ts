import { randomBytes } from 'node:crypto'
import type { Walk } from './walk.ts'

/** A new person as a registration wants them; the address is random, so that tours do not meet. */
export const newPerson = (firstName: string, lastName: string) => ({
  email: `${firstName.toLowerCase()}.${randomBytes(4).toString('hex')}@example.com`,
  password: `a quiet harbour ${randomBytes(3).toString('hex')}`,
  first_name: firstName,
  last_name: lastName,
})

/** Registers a person and keeps id, address and password as the facts `<name>.id`, `.email`, `.password`. */
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
