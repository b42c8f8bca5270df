import { z } from 'zod'
import type { RequestInfo } from '../http/request-info.ts'
import { linkToken, message } from './body/schemas.ts'
import { publicRoute, type Route } from './route.ts'

interface LinkRoute {
  /** Full path, as in a route. Add it to the public routes of registry.ts. */
  path: string
  tag: string
  summary: string
  description?: string
  /** Statuses beyond 400. */
  refusals?: number[]
  /** The message in the answer. */
  done: string
  /** Uses the link once. Throws the errors of `findLink` and `spendLink`. */
  use(requestInfo: RequestInfo, token: string): Promise<void>
}

/** The public POST of `{token}` by the button on a mailed link's page. Answers 200 `{message}`. */
export const linkRoute = ({ done, use, ...route }: LinkRoute): Route =>
  publicRoute({
    ...route,
    method: 'POST',
    body: z.object({ token: linkToken }),
    status: 200,
    answer: message(done),
    secret: true,
    async handle({ requestInfo, body }) {
      await use(requestInfo, body.token)
      return { message: done }
    },
  })
