import { UnexpectedAnswer, type Walk } from './walk.ts'

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
