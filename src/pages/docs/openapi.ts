import { type ZodType, z } from 'zod'
import {
  createDocument,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiOverrideContext,
} from 'zod-openapi'
import { actions } from '../../policy-engine/catalogue/actions.ts'
import { idempotencyKeyForm, isRepeatable } from '../../request/change/repeatable-call.ts'
import { isStorable } from '../../request/change/stored-call.ts'
import { takesApproval } from '../../request/check-headers.ts'
import { operationId } from '../../request/operation-id.ts'
import type { Route } from '../../request/route.ts'
import { errorAnswersOf, openRequestSchema } from './error-answers.ts'

export type OpenApiDocument = ReturnType<typeof createDocument>

const introduction = `Identity, tenants and access decisions over JSON.

Log in at \`POST /api/v1/auth/login/\` and send \`Authorization: Bearer <access>\`. A token works in the one tenant it
names; \`POST /api/v1/auth/switch-tenant/\` gives a token for another tenant.

- Paths work with and without the trailing slash.
- Lists answer \`{count, next, previous, results}\`: follow \`next\` until it is \`null\`.
- Errors are \`application/problem+json\` (RFC 9457): \`code\` is for programs, \`detail\` for people.
- A parameter that a GET does not have is 400 \`unknown_parameter\`; those that begin with \`_\` or \`utm_\` are ignored.
- A header that nearly equals \`Idempotency-Key\`, \`Approval-Request\` or \`If-Match\`, where the route reads it, is 400 \`unknown_header\`.
- A member of a body that the route does not have is 400 \`unknown_field\`, and 422 \`unknown_member\` in a policy; \`meant\` is the
  nearest name. What answers show can be sent back. Below \`auth/\`, and without a token, only misspelt fields are refused.
- \`X-Request-Id\` is echoed, or generated, and is part of every error and log line.
- Times are RFC 3339 in UTC, ids are UUIDs.`

/**
 * The OpenAPI 3.1 document of the routes, generated from the schemas that validate requests. `publicUrl` has no trailing
 * slash. Throws if two routes have the same operation id.
 */
export function openapiDocument(
  routes: readonly Route[],
  info: { publicUrl: string; version: string },
): OpenApiDocument {
  assertUnique(routes)
  return createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'Bailiwick',
        version: info.version,
        description: introduction,
        license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: info.publicUrl }],
      tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({ name })),
      security: [{ bearerAuth: [] }],
      paths: pathsOf(routes),
      components: { securitySchemes: { bearerAuth, applicationToken } },
    },
    { override: simplify },
  )
}

const applicationToken = {
  type: 'http',
  scheme: 'bearer',
  description:
    'The token of an application, in no tenant. An operator issues it: `npm run cli -- app:token`.',
} as const

const bearerAuth = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'JWT',
  description:
    'The `access` token of a login or refresh, or an API key (`bwk_…`) unless the operation refuses it; a `temporary_token` where the operation says so.',
} as const

function assertUnique(routes: readonly Route[]) {
  const seen = new Map<string, string>()
  for (const route of routes) {
    const [id, call] = [operationId(route), `${route.method} ${route.path}`]
    if (seen.has(id)) throw new Error(`${seen.get(id)} and ${call} have the same operation id ${id}`)
    seen.set(id, call)
  }
}

function pathsOf(routes: readonly Route[]) {
  const paths: NonNullable<ZodOpenApiObject['paths']> = {}
  for (const route of routes) {
    const path = documentPath(route.path)
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) }
  }
  return paths
}

/** Canonical paths of the API end with a slash. Well-known addresses and probes have the form of their standards. */
const documentPath = (path: string) =>
  path.replace(/:(\w+)/g, '{$1}').replace(/^\/api\/.*[^/]$/, (found) => `${found}/`)

const operation = (route: Route): ZodOpenApiOperationObject => ({
  operationId: operationId(route),
  tags: [route.tag],
  summary: route.summary,
  ...descriptionOf(route),
  ...(route.action === 'public' ? { security: [] } : { 'x-action': route.action }),
  ...(route.applicationToken && { security: [{ applicationToken: [] }] }),
  ...(route.access === 'optional' && { security: [{}, { bearerAuth: [] }] }),
  ...parametersOf(route),
  ...requestBodyOf(route),
  responses: {
    [route.status]: successOf(route),
    ...(isAcceptable(route) && { 202: accepted }),
    ...(route.creates && { 201: successOf({ ...route, status: 201 }) }),
    ...(route.finds && { 200: successOf({ ...route, status: 200 }) }),
    ...errorAnswersOf(route),
  } as ZodOpenApiOperationObject['responses'],
})

function descriptionOf(route: Route) {
  const { action, description, sessionOnly } = route
  const reading =
    route.readAction &&
    `What it shows also needs \`${route.readAction}\`; in a list, each row is decided by it, as its detail is.`
  const temporary = action !== 'public' && actions[action].tokens.includes('otp_pending')
  const hint = 'Also accepts the `temporary_token` of a login that waits for a second factor.'
  const refused = action !== 'public' && (sessionOnly || !actions[action].tokens.includes('key'))
  const text = [
    description,
    reading,
    temporary && hint,
    refused && 'API keys are refused: 403 `key_not_allowed`.',
  ]
    .filter(Boolean)
    .join('\n\n')
  return text ? { description: text } : {}
}

/** The names that applications give their resources. All other path parameters are ids: a malformed one is as an unknown one. */
const namesInPaths = new Set(['resource_type', 'resource_id'])

function parametersOf(route: Route) {
  const { path, query, method, versioned } = route
  const ids = [...path.matchAll(/:(\w+)/g)].map(
    ([, name = '']) => [name, namesInPaths.has(name) ? z.string() : z.guid()] as const,
  )
  const inPath = ids.length > 0 && { path: z.object(Object.fromEntries(ids)) }
  const named = takesApproval(route) ? approvalRequest : z.object({})
  const conditional = versioned && method !== 'GET' ? named.extend(ifMatch.shape) : named
  const stored = isAcceptable(route) ? conditional.extend(prefer.shape) : conditional
  const headers = isRepeatable(route) ? stored.extend(idempotencyKey.shape) : stored
  const header = Object.keys(headers.shape).length > 0 && { header: headers }
  return { requestParams: { ...inPath, ...(query && { query }), ...header } }
}

const ifMatch = z.object({
  'If-Match': z
    .string()
    .optional()
    .meta({ description: 'The `ETag` of the version that you read; 412 if it has changed since' }),
})

const approvalRequest = z.object({
  'Approval-Request': z.guid().optional().meta({
    description:
      'The id of the approved request for exactly this call, if a policy asks for an approval. An empty header is 400',
  }),
})

const prefer = z.object({
  Prefer: z.string().optional().meta({
    description:
      '`respond-async`: if a policy asks for an approval, the call is stored, and carried out when it is approved',
  }),
})

const idempotencyKey = z.object({
  'Idempotency-Key': z
    .string()
    .regex(idempotencyKeyForm)
    .optional()
    .meta({
      description:
        'Visible ASCII characters, new for each call. For 24 hours, the same call with the same key gets the same answer, ' +
        'with `Idempotency-Replayed: true`, and creates nothing again',
    }),
})

const entityTagHeader = { ETag: { description: 'For `If-Match`', schema: { type: 'string' } } } as const

/** An empty body counts as `{}`, so a body is required only if the schema refuses `{}`. */
function requestBodyOf({ body, file }: Route) {
  if (file) {
    const content = Object.fromEntries(file.mediaTypes.map((type) => [type, {}]))
    return { requestBody: { required: true, content } }
  }
  if (!body) return {}
  return {
    requestBody: { required: !acceptsNothing(body), content: { 'application/json': { schema: body } } },
  }
}

/** A schema can also refuse by throwing an error with its own code. */
function acceptsNothing(body: ZodType): boolean {
  try {
    return body.safeParse({}).success
  } catch {
    return false
  }
}

/** Whether a call can be answered 202: a policy can require an approval, and the call can be stored. */
const isAcceptable = (route: Route) => takesApproval(route) && isStorable(route)

const accepted = {
  description:
    'With `Prefer: respond-async`: the call needs an approval, and is carried out when it is approved',
  headers: {
    Location: { schema: { type: 'string', format: 'uri' } },
    'Preference-Applied': { schema: { const: 'respond-async' } },
  },
  content: { 'application/json': { schema: z.object({ approval_request: openRequestSchema }) } },
} as const

const successOf = ({ status, answer, secret, method, versioned }: Route) => ({
  description: status === 201 ? 'Created' : status === 204 ? 'Done; no content' : 'OK',
  ...(versioned && method === 'GET' && { headers: entityTagHeader }),
  ...(secret && { headers: { 'Cache-Control': { schema: { const: 'no-store' } } } }),
  ...(answer && { content: { 'application/json': { schema: answer } } }),
})

/** Answers can get new members, so their schemas stay open. The rest removes what zod repeats or JSON implies. */
function simplify({ jsonSchema, zodSchema, io }: ZodOpenApiOverrideContext) {
  const { def } = zodSchema._zod
  if (io === 'output' && def.type === 'object' && !def.catchall) delete jsonSchema.additionalProperties
  if (def.type === 'string' && jsonSchema.format) delete jsonSchema.pattern
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}
