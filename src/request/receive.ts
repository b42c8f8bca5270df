import type { Context } from 'koa'
import { isUuid } from '../crypto/uuid.ts'
import type { Versions } from '../database/version.ts'
import { ApiError, invalidField } from '../errors.ts'
import { bearerToken } from '../http/bearer-token.ts'
import { preconditionFailed, readIfMatch } from './answer/etag.ts'
import { bodyReader, bodyText, smallBody } from './body/read-body.ts'
import { queryReader } from './body/read-query.ts'
import { bodyValidator } from './body/validate-body.ts'
import { idempotencyKey as readKey } from './change/repeatable-call.ts'
import { conditional, headerCheck, takesApproval } from './check-headers.ts'
import type { Input, Received } from './request-context.ts'
import type { Route } from './route.ts'

/** The longest body of a route, in bytes. */
function maxBodyOf(route: Route): number {
  if (route.file) return route.file.maxBytes
  if (route.access !== 'token' || route.path.includes('/auth/')) return smallBody
  return route.kind === 'bulk' ? route.maxBody : 1024 * 1024
}

/** The bytes that a long body takes: as many as the route allows if it comes without its length. 0 for a short one. */
export function longBodyOf({ request }: Context, route: Route): number {
  if (route.method === 'GET') return 0
  const max = maxBodyOf(route)
  const length = request.length ?? (request.get('transfer-encoding') === '' ? 0 : max)
  return length > smallBody ? Math.min(length, max) : 0
}

/** Makes the step that reads and validates body, query and headers. It returns faults instead of throwing. */
export function receiver(route: Route): (http: Context) => Promise<Received> {
  const read = bodyReader(maxBodyOf(route), route.file)
  const validate = bodyValidator(route)
  const readQuery = queryReader(route)
  const checkHeaders = headerCheck(route)
  return (http) =>
    orFault(async () => {
      const text = () => bodyText(http)
      const body = route.method === 'GET' ? undefined : validate(await read(http), text)
      const query = readQuery(http)
      checkHeaders(http)
      const ifMatch = precondition(http, route)
      const approvalId = namedApproval(http, route)
      const idempotencyKey = readKey(http, route)
      const respondAsync = prefersAsync(http)
      const { params } = http
      const bearer = () => bearerToken(http)
      return {
        params,
        body,
        query,
        ifMatch,
        approvalId,
        asksApproval: true,
        idempotencyKey,
        respondAsync,
        text,
        bearer,
        requestInfo: http.state.requestInfo,
      }
    })
}

/** The same for a call that a page of the service makes: its form is the body, and it has no headers of the API. */
export function formReceiver(
  route: Route,
): (http: Context, body: object, approval: Partial<Input>) => Promise<Received> {
  const validate = bodyValidator(route)
  return (http, body, { approvalId = null, asksApproval = true }) =>
    orFault(async () => ({
      params: http.params,
      body: route.method === 'GET' ? undefined : validate(body),
      query: route.query?.parse({}),
      ifMatch: null,
      approvalId,
      asksApproval,
      idempotencyKey: null,
      respondAsync: false,
      text: () => JSON.stringify(body),
      bearer: () => bearerToken(http),
      requestInfo: http.state.requestInfo,
    }))
}

async function orFault(read: () => Promise<Input>): Promise<Received> {
  try {
    return { input: await read() }
  } catch (error) {
    if (error instanceof ApiError) return { fault: error }
    throw error
  }
}

/** The input. Throws its fault: 400, 412, 413, 415. */
export function validInput(received: Received): Input {
  if ('fault' in received) throw received.fault
  return received.input
}

/** On a route without versions no tag can match, so any tag is 412. */
function precondition(http: Context, { method, versioned }: Route): Versions {
  const versions = conditional.has(method) ? readIfMatch(http.get('if-match')) : null
  if (versions !== null && !versioned) throw preconditionFailed()
  return versions
}

/** Whether `Prefer` has `respond-async` (RFC 7240 §4.1). Other preferences are ignored. */
const prefersAsync = (http: Context): boolean =>
  http
    .get('prefer')
    .split(',')
    .some((preference) => /^\s*respond-async\s*(;|=|$)/i.test(preference))

/**
 * The id in `Approval-Request`, in lower case, for actions that can require an approval. Null without the header. Throws
 * 400 for anything else: an empty header or a no-break space around the id is a mistake of the client.
 */
function namedApproval(http: Context, route: Route): string | null {
  const header = http.req.headers['approval-request']
  if (header === undefined || !takesApproval(route)) return null
  const id = String(header).toLowerCase()
  if (isUuid(id)) return id
  throw invalidField(
    'Approval-Request',
    'Give the id of one approval request, or leave the header out if you have none.',
  )
}
