import { z } from 'zod'
import type { ZodOpenApiResponseObject } from 'zod-openapi'
import {
  ApiError,
  gone,
  invalidField,
  invalidState,
  notFound,
  tokenNotValid,
  unavailable,
} from '../errors.ts'
import { problemBody } from './problem.ts'
import type { Route } from './route.ts'
import { timestamp } from './schemas.ts'

const problem = z
  .looseObject({
    type: z.string().meta({ description: '`urn:bailiwick:error:` and the code' }),
    title: z.string(),
    status: z.int(),
    detail: z.string().meta({ description: 'A sentence for people' }),
    code: z.string().meta({ description: 'For programs; stable' }),
    instance: z.string().meta({ description: 'Id of the request, as in `X-Request-Id`' }),
    errors: z.array(z.looseObject({ field: z.string(), code: z.string(), detail: z.string() })).optional(),
    decision_id: z.string().optional().meta({ description: 'Where a policy decided: the decision' }),
    reasons: z
      .array(z.looseObject({ code: z.string(), layer: z.string(), message: z.string() }))
      .optional()
      .meta({ description: 'Where a policy decided: why' }),
    oldest: z.int().optional().meta({ description: 'Of `gone`: the lowest `after` that the feed answers' }),
    approval_request: z
      .object({ id: z.uuid(), status: z.enum(['pending', 'approved']), url: z.url(), expires_at: timestamp })
      .optional()
      .meta({ description: 'Of `approval_required`: what to wait for, and to name in `Approval-Request`' }),
  })
  .meta({
    id: 'Problem',
    description:
      'RFC 9457. The details of `errors` are repeated as arrays of strings under the names of their fields.',
  })

const header = (description: string, type: 'string' | 'integer') => ({ description, schema: { type } })
const retryAfter = { 'Retry-After': header('Seconds to wait before the next attempt', 'integer') }

const instance = '3f0c9d7e-8f0b-4a58-9b0e-6a3e1d1f7f0a'

const answer = (
  id: string,
  description: string,
  error: ApiError,
  headers?: ZodOpenApiResponseObject['headers'],
): ZodOpenApiResponseObject => ({
  id,
  description,
  ...(headers && { headers }),
  content: { 'application/problem+json': { schema: problem, example: problemBody(error, instance) } },
})

const answers: Record<number, ZodOpenApiResponseObject> = {
  400: answer(
    'BadRequest',
    'The request is not valid, or a link, code or cursor in it is not.',
    invalidField('email', 'Give an e-mail address.'),
  ),
  401: answer('Unauthorized', 'No valid token, or one that does not suffice for this.', tokenNotValid(), {
    'WWW-Authenticate': header('`Bearer`, with the reason where a token was presented', 'string'),
  }),
  403: answer(
    'Forbidden',
    'Known, and not permitted: `reasons` say why.',
    new ApiError(403, 'permission_denied', 'You are not permitted to do this.'),
  ),
  404: answer('NotFound', 'There is no such thing, or not in a tenant of yours.', notFound()),
  409: answer(
    'Conflict',
    'The present state does not allow it.',
    invalidState('It is archived already.', 'archived'),
  ),
  410: answer(
    'Gone',
    'It is no longer kept. For the feed, `oldest` is the lowest `after` that is answered.',
    gone('Events up to 1200 are no longer kept.', { oldest: 1200 }),
  ),
  412: answer(
    'PreconditionFailed',
    'It was changed since the `ETag` in `If-Match` was read.',
    new ApiError(412, 'precondition_failed', 'It was changed in the meantime. Read it again.'),
  ),
  413: answer(
    'PayloadTooLarge',
    'The body is larger than 1 MiB, or 16 KiB below `/auth/`.',
    new ApiError(413, 'payload_too_large', 'The body may have 1048576 bytes at most.'),
  ),
  415: answer(
    'UnsupportedMediaType',
    'The body is not uncompressed JSON in UTF-8.',
    new ApiError(415, 'unsupported_media_type', 'Send JSON: Content-Type: application/json, in UTF-8.'),
  ),
  422: answer(
    'UnprocessableContent',
    'The policy is not valid: `errors` say where.',
    new ApiError(422, 'policy_invalid', 'The policy is not valid.'),
  ),
  429: answer(
    'TooManyRequests',
    'Too many attempts; this one was not looked at.',
    new ApiError(429, 'throttled', 'Too many requests. Wait a moment.'),
    retryAfter,
  ),
  500: answer(
    'InternalError',
    'A fault of the service, logged under `instance`.',
    new ApiError(500, 'internal_error', 'This is a fault of the service. It was logged under this instance.'),
  ),
  503: answer(
    'Unavailable',
    'Something the service depends on is away; try again.',
    unavailable('dependency_unavailable', 'Something this service depends on is away.', 2),
    retryAfter,
  ),
}

/** The error answers a route can give, by status: what its form entails and what it names. Throws for unknown ones. */
export function refusalsOf(route: Route): Record<string, ZodOpenApiResponseObject> {
  const statuses = new Set([500, 503, ...(route.refusals ?? [])])
  if (route.body) for (const status of [400, 413, 415]) statuses.add(status)
  if (route.query) statuses.add(400)
  if (route.versioned && route.method !== 'GET') statuses.add(412)
  if (route.path.includes(':')) statuses.add(404)
  if (route.action !== 'public') for (const status of [401, 403, 429]) statuses.add(status)
  return Object.fromEntries([...statuses].sort().map((status) => [status, known(route, status)]))
}

function known(route: Route, status: number): ZodOpenApiResponseObject {
  const found = answers[status]
  if (!found) throw new Error(`${route.method} ${route.path} names the refusal ${status}, which has no words`)
  return found
}
