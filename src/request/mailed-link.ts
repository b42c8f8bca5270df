import { z } from 'zod'
import type { RequestInfo } from '../http/request-info.ts'
import { linkToken, message } from './body/schemas.ts'

/**
 * What a route needs to use a mailed link by the button on its page: a public POST of `{token}`, which answers 200 with the
 * message `done`. `use` uses the link once, and throws the errors of `findLink` and `spendLink`.
 */
export const mailedLink = (
  done: string,
  use: (requestInfo: RequestInfo, token: string) => Promise<unknown>,
) => ({
  access: 'public' as const,
  method: 'POST' as const,
  body: z.object({ token: linkToken }),
  status: 200 as const,
  answer: message(done),
  secret: true,
  async handle({ requestInfo, body }: { requestInfo: RequestInfo; body: { token: string } }) {
    await use(requestInfo, body.token)
    return { message: done }
  },
})
