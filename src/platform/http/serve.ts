import type { Context, Middleware } from 'koa'
import type { ZodError, ZodType } from 'zod'
import type { Versions } from '../db/version.ts'
import { type FieldError, invalidField, validationError } from '../errors.ts'
import { type Admission, type AdmitDeps, admit } from './admit.ts'
import { readClaims } from './authenticate.ts'
import { entityTag, preconditionFailed, readIfMatch, Versioned } from './etag.ts'
import { measuredAs } from './measure-requests.ts'
import { bodyReader, bodyText, hasBody } from './read-body.ts'
import type { Route } from './route.ts'

const readSmallBody = bodyReader(16 * 1024)
const readBody = bodyReader(1024 * 1024)

/** Does work in its tenant's turn. */
type Turn = <T>(work: () => Promise<T>) => Promise<T>
const atOnce: Turn = (work) => work()

/**
 * One route as middleware, in the order of checks that the contract fixes: authenticate 401, could this be permitted
 * at all 403, body and query 400; then the handler: the resource 404, the decision about it 403, its state 409.
 */
export function serve(deps: AdmitDeps, route: Route): Middleware {
  const reader = route.path.includes('/auth/') ? readSmallBody : readBody
  const measured = measuredAs(route)
  return async (ctx) => {
    ctx.state.measuredAs = measured
    ctx.state.action = route.action
    if (isNobody(ctx, route)) return served(ctx, null, atOnce)
    const claims = await readClaims(deps, ctx)
    const turn: Turn = (work) => deps.turns.ofTenant(claims.tenantId, work)
    // A body comes as slowly as its sender likes: it is read between two turns, so that nobody else waits for it.
    if (hasBody(ctx)) return served(ctx, await turn(() => admit(deps, ctx, route, claims)), turn)
    await turn(async () => served(ctx, await admit(deps, ctx, route, claims), atOnce))
  }

  async function served(ctx: Context, admission: Admission | null, turn: Turn): Promise<void> {
    try {
      const answer = await handled(ctx, route, admission, turn)
      await respond(ctx, route, answer, admission)
    } finally {
      await admission?.conclude()
    }
  }

  async function handled(ctx: Context, route: Route, admission: Admission | null, turn: Turn) {
    const body = route.method === 'GET' ? undefined : checked(route.body, await reader(ctx))
    return turn(() => acted(ctx, route, admission, body))
  }

  async function acted(ctx: Context, route: Route, admission: Admission | null, body: unknown) {
    const query = route.query ? checked(route.query, flatQuery(ctx)) : undefined
    const ifMatch = precondition(ctx, route)
    await admission?.bind(body)
    const caller = admission?.caller ?? null
    const { requestInfo } = ctx.state
    const text = () => bodyText(ctx)
    const verb = () => route.handle({ params: ctx.params, body, query, caller, requestInfo, ifMatch, text })
    const decided = async () => {
      admission?.decideRoute(body)
      return verb()
    }
    const answer = await (admission ? admission.through(decided) : verb())
    if (caller && ctx.state.undecided)
      throw new Error(`${route.method} ${route.path} acted on a resource it never decided`)
    return answer
  }
}

/** An Authorization header that holds no valid token is refused, never taken for none. */
const isNobody = (ctx: Context, { action, anonymous }: Route) =>
  action === 'public' || (anonymous && ctx.get('authorization') === '')

function checked(schema: ZodType | undefined, value: unknown): unknown {
  if (!schema) return value
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw validationError(...fieldErrors(result.error))
}

/** What a schema found, as the errors of a 400. */
export const fieldErrors = (error: ZodError): FieldError[] =>
  error.issues.map((issue) => ({
    field: issue.path.join('.'),
    code: issue.code === 'custom' || issue.code === 'invalid_key' ? 'invalid' : issue.code,
    detail: issue.message,
  }))

/** A parameter given twice is refused: which one counts would be a guess. */
function flatQuery(ctx: Context): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const [name, value] of Object.entries(ctx.query)) {
    if (Array.isArray(value)) throw invalidField(name, 'Give this parameter once.')
    if (value?.includes('\0') || value?.isWellFormed() === false)
      throw invalidField(name, 'Text may not contain NUL.')
    if (value !== undefined) flat[name] = value
  }
  return flat
}

const conditional = new Set(['PUT', 'PATCH', 'DELETE'])

/** A route that knows no versions has nothing that a tag could match, and must not act as if it had. */
function precondition(ctx: Context, { method, versioned }: Route): Versions {
  const versions = conditional.has(method) ? readIfMatch(ctx.get('if-match')) : null
  if (versions !== null && !versioned) throw preconditionFailed()
  return versions
}

/** RFC 9110 §9.3.4: no validator with the answer to a PUT, which is not what was sent. */
async function respond(ctx: Context, route: Route, answer: unknown, admission: Admission | null) {
  const versioned = answer instanceof Versioned ? answer : undefined
  if (versioned && route.method !== 'PUT') ctx.set('ETag', entityTag(versioned.version))
  else if (route.versioned && route.method === 'GET') throw new Error(`${route.path} answered no version`)
  ctx.status = route.status
  ctx.set('Cache-Control', route.cache ?? (route.secret ? 'no-store' : 'private, no-cache'))
  if (route.status === 204) return
  ctx.type = 'application/json; charset=utf-8'
  const body = versioned ? versioned.body : answer
  ctx.body = JSON.stringify(admission ? await admission.show(body) : body)
}
