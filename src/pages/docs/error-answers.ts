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
} from '../../errors.ts'
import { problemBody } from '../../http/problem.ts'
import { preconditionFailed } from '../../request/answer/etag.ts'
import { refusesUnknownParameters } from '../../request/body/read-query.ts'
import { timestamp } from '../../request/body/schemas.ts'
import { isRepeatable } from '../../request/change/repeatable-call.ts'
import { takesApproval } from '../../request/check-headers.ts'
import type { Route } from '../../request/route.ts'

/** The approval request that a call waits for. */
export const openRequestSchema = z.object({
  id: z.uuid(),
  status: z.enum(['pending', 'approved']),
  url: z.url(),
  expires_at: timestamp,
})

const fieldError = z.looseObject({
  field: z.string(),
  code: z.string(),
  detail: z.string(),
  pointer: z.string().optional().meta({ description: 'JSON Pointer (RFC 6901) in the body' }),
  line: z.int().optional().meta({ description: 'In the body; for a fault in a module, in its Rego' }),
  column: z.int().optional(),
  meant: z
    .string()
    .nullable()
    .optional()
    .meta({ description: 'For the codes `unknown_…`: the nearest name' }),
})

const problem = z
  .looseObject({
    type: z.string().meta({ description: '`urn:bailiwick:error:` and the code' }),
    title: z.string(),
    status: z.int(),
    detail: z.string().meta({ description: 'A sentence for people' }),
    code: z.string().meta({ description: 'For programs; stable' }),
    instance: z.string().meta({ description: 'Id of the request, as in `X-Request-Id`' }),
    errors: z.array(fieldError).optional(),
    known: z.array(z.string()).optional().meta({
      description: 'For `unknown_parameter`: the parameters that the address has',
    }),
    decision_id: z.string().optional().meta({ description: 'The decision, when a policy decided' }),
    reasons: z
      .array(z.looseObject({ code: z.string(), layer: z.string(), message: z.string() }))
      .optional()
      .meta({ description: 'The reasons, when a policy decided' }),
    line: z.int().optional().meta({ description: 'For `parse_error`: where the body is not JSON' }),
    column: z.int().optional(),
    reason: z.literal('expired').optional().meta({
      description: 'For `token_not_valid`: the token was valid until its time',
    }),
    meant: z.string().optional().meta({
      description: 'For `not_found` below `/api/` where nothing has this address: the nearest one',
    }),
    oldest: z.int().optional().meta({ description: 'For `gone`: the lowest `after` that the feed answers' }),
    approval_request: openRequestSchema.optional().meta({
      description: 'For `approval_required`: the request to wait for, and to name in `Approval-Request`',
    }),
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
    'The request, or a link, code or cursor in it, is not valid.',
    invalidField('email', 'Give an e-mail address.'),
  ),
  401: answer(
    'Unauthorized',
    'The token is missing, not valid, or not sufficient for this.',
    tokenNotValid(),
    {
      'WWW-Authenticate': header('`Bearer`, with the reason when a token was presented', 'string'),
    },
  ),
  403: answer(
    'Forbidden',
    'The caller is known but not permitted. `reasons` say why.',
    new ApiError(403, 'permission_denied', 'You are not permitted to do this.'),
  ),
  404: answer('NotFound', 'The object does not exist, or not in a tenant of yours.', notFound()),
  409: answer(
    'Conflict',
    'The current state of the object does not allow this.',
    invalidState('The tenant is already archived.', 'archived'),
  ),
  410: answer(
    'Gone',
    'This is no longer stored. For the feed, `oldest` is the lowest `after` that is answered.',
    gone('Events up to 1200 are no longer stored.', { oldest: 1200 }),
  ),
  412: answer(
    'PreconditionFailed',
    'The object was changed after its `ETag` in `If-Match` was read.',
    preconditionFailed(),
  ),
  413: answer(
    'PayloadTooLarge',
    'The body is larger than 1 MiB (16 KiB below `/auth/`, and where no token is needed), or has more than 20,000 values.',
    new ApiError(413, 'payload_too_large', 'The body can have 1048576 bytes at most.'),
  ),
  414: answer(
    'UriTooLong',
    'The address is longer than 8 KiB.',
    new ApiError(414, 'uri_too_long', 'The address can have 8192 characters at most.'),
  ),
  415: answer(
    'UnsupportedMediaType',
    'The body is not uncompressed JSON in UTF-8.',
    new ApiError(415, 'unsupported_media_type', 'Send JSON: Content-Type: application/json, in UTF-8.'),
  ),
  422: answer(
    'UnprocessableContent',
    'The policy is not valid: `errors` say where. Or the `Idempotency-Key` belongs to another call.',
    new ApiError(422, 'policy_invalid', 'The policy is not valid.'),
  ),
  429: answer(
    'TooManyRequests',
    'Too many attempts (`throttled`), or the tenant has used up what its changes of a day can write to its logs (`quota_exceeded`). This one was not processed.',
    new ApiError(429, 'throttled', 'Too many requests. Wait a moment.'),
    retryAfter,
  ),
  500: answer(
    'InternalError',
    'The service failed. The error was logged under `instance`.',
    new ApiError(500, 'internal_error', 'The service has failed. The error was logged under this instance.'),
  ),
  503: answer(
    'Unavailable',
    'A server that the service depends on is unavailable. Try again.',
    unavailable('dependency_unavailable', 'A server that this service depends on is unavailable.', 2),
    retryAfter,
  ),
}

/** The error answers of a route by status: those of its form, and those it lists. Throws for an unknown status. */
export function errorAnswersOf(route: Route): Record<string, ZodOpenApiResponseObject> {
  const statuses = new Set([500, 503, ...(route.refusals ?? [])])
  if (route.body) for (const status of [400, 413, 415]) statuses.add(status)
  if (route.query || takesApproval(route) || refusesUnknownParameters(route)) statuses.add(400)
  if (route.query || route.path.includes(':')) statuses.add(414)
  if (route.versioned && route.method !== 'GET') for (const status of [400, 412]) statuses.add(status)
  if (isRepeatable(route)) for (const status of [400, 409, 422]) statuses.add(status)
  if (route.path.includes(':')) statuses.add(404)
  if (route.action !== 'public') for (const status of [401, 403, 429]) statuses.add(status)
  return Object.fromEntries([...statuses].sort().map((status) => [status, known(route, status)]))
}

function known(route: Route, status: number): ZodOpenApiResponseObject {
  const found = answers[status]
  if (!found)
    throw new Error(
      `${route.method} ${route.path} lists the status ${status}, which error-answers.ts does not describe`,
    )
  return found
}
