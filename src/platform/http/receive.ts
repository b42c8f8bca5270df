import type { Context } from 'koa'
import type { ZodError, ZodType } from 'zod'
import { actions } from '../../policy-engine/catalogue/actions.ts'
import type { Versions } from '../db/version.ts'
import { ApiError, type FieldError, invalidField, validationError } from '../errors.ts'
import { isUuid } from '../uuid.ts'
import { preconditionFailed, readIfMatch } from './etag.ts'
import { bodyReader, bodyText, smallBody } from './read-body.ts'
import { idempotencyKey as readKey } from './repeatable-call.ts'
import type { Input } from './request-context.ts'
import type { Route } from './route.ts'
import { bearerToken } from './verify-token.ts'

/** The validated input, or its first fault. */
export type Received = { input: Input } | { fault: ApiError }

const readSmallBody = bodyReader(smallBody)
const readBody = bodyReader(1024 * 1024)

/** Makes the step that reads and validates body, query and headers. It returns faults instead of throwing. */
export function receiver(route: Route): (http: Context) => Promise<Received> {
  const isOpen = route.action === 'public' || route.anonymous
  const read = isOpen || route.path.includes('/auth/') ? readSmallBody : readBody
  return async (http): Promise<Received> => {
    try {
      const body = route.method === 'GET' ? undefined : parsed(route.body, await read(http))
      const query = route.query ? parsed(route.query, flatQuery(http)) : undefined
      const ifMatch = precondition(http, route)
      const approvalId = namedApproval(http, route)
      const idempotencyKey = readKey(http, route)
      const respondAsync = prefersAsync(http)
      const { params } = http
      const text = () => bodyText(http)
      const bearer = () => bearerToken(http)
      return {
        input: {
          params,
          body,
          query,
          ifMatch,
          approvalId,
          idempotencyKey,
          respondAsync,
          text,
          bearer,
          requestInfo: http.state.requestInfo,
        },
      }
    } catch (error) {
      if (error instanceof ApiError) return { fault: error }
      throw error
    }
  }
}

/** The input. Throws its fault: 400, 412, 413, 415. */
export function validInput(received: Received): Input {
  if ('fault' in received) throw received.fault
  return received.input
}

/** Validates a value. Throws 400 with its faults. */
export function parsed(schema: ZodType | undefined, value: unknown): unknown {
  if (!schema) return value
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw validationError(...fieldErrors(result.error))
}

/** The faults of a schema, as the errors of a 400. */
export const fieldErrors = (error: ZodError): FieldError[] =>
  error.issues.map((issue) => ({
    field: issue.path.join('.'),
    code: issue.code === 'custom' || issue.code === 'invalid_key' ? 'invalid' : issue.code,
    detail: issue.message,
  }))

/** Refuses a repeated parameter, because it is unclear which value counts. */
function flatQuery(http: Context): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const [name, value] of Object.entries(http.query)) {
    if (Array.isArray(value)) throw invalidField(name, 'Give this parameter once.')
    if (value?.includes('\0') || value?.isWellFormed() === false)
      throw invalidField(name, 'Text must not contain NUL or lone surrogates.')
    if (value !== undefined) flat[name] = value
  }
  return flat
}

const conditional = new Set(['PUT', 'PATCH', 'DELETE'])

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
function namedApproval(http: Context, { action }: Route): string | null {
  const header = http.req.headers['approval-request']
  if (header === undefined || action === 'public' || !actions[action].gate) return null
  const id = String(header).toLowerCase()
  if (isUuid(id)) return id
  throw invalidField(
    'Approval-Request',
    'Give the id of one approval request, or leave the header out if you have none.',
  )
}
