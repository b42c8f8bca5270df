import { z } from 'zod'
import type { RequestInfo } from './request-info.ts'
import { publicRoute, type Route } from './route.ts'
import { linkToken, message } from './schemas.ts'

interface LinkRoute {
  /** Whole path, as in a route; it has to be listed in the registry of public routes. */
  path: string
  tag: string
  summary: string
  description?: string
  /** Statuses beyond 400. */
  refusals?: number[]
  /** The message of success. */
  done: string
  /** Does what the link is for, once; throws what `findLink` and `spendLink` throw. */
  use(requestInfo: RequestInfo, token: string): Promise<void>
}

/** The public POST `{token}` behind the button of a mailed link's page: 200 `{message}`. */
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
