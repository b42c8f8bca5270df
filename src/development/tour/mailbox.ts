import { Surprise, type Walk } from './walk.ts'

/** What a tour cannot do without, and what to do. */
export const needsMailbox =
  'The tour needs npm start without SMTP_URL, on this machine: it reads captured mail.'

/** Reads the newest mail to an address once it has come, and gives the token of its link. */
export async function tokenMailedTo(walk: Walk, email: string | undefined): Promise<string> {
  const path = `/dev/mailbox?to=${email}`
  const call = { method: 'GET', path, accept: 'application/json' } as const
  const expected = { status: 200, hint: needsMailbox }
  const { results } = await walk.await(call, expected, ({ count }) => count > 0)
  const [, token] = /[?&]token=([\w-]+)/.exec(results[0].text) ?? []
  if (!token) throw new Surprise('Expected the mail to carry a link with a token')
  return token
}
