import { randomBytes } from 'node:crypto'
import { UnexpectedAnswer, type Walk } from './walk.ts'

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

/** Why a tour stops without a mailbox, and what to do. */
export const needsMailbox =
  'The tour reads captured mail: it needs npm start, without SMTP_URL, on this machine.'

/** Waits for a mail to the address and gives the token of the link in the newest one. */
export async function tokenMailedTo(walk: Walk, email: string | undefined): Promise<string> {
  const path = `/dev/mailbox?to=${email}`
  const call = { method: 'GET', path, accept: 'application/json' } as const
  const expected = { status: 200, hint: needsMailbox }
  const { results } = await walk.await(call, expected, ({ count }) => count > 0)
  const [, token] = /[?&]token=([\w-]+)/.exec(results[0].text) ?? []
  if (!token) throw new UnexpectedAnswer('Expected the mail to contain a link with a token')
  return token
}
