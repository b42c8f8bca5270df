import type { Context } from 'koa'
import { Accepted } from '../change/approvals.ts'
import type { Route } from '../route.ts'
import { entityTag, Found, Versioned } from './etag.ts'

/** Writes the answer: status, ETag, caching, JSON. The answer to a PUT has no ETag (RFC 9110 §9.3.4). */
export function respond(http: Context, route: Route, answer: unknown): void {
  if (answer instanceof Accepted) {
    accept(http, answer)
    return
  }
  const versioned = answer instanceof Versioned
  if (versioned && route.method !== 'PUT') http.set('ETag', entityTag(answer.version))
  else if (route.versioned && route.method === 'GET')
    throw new Error(`${route.path} answered without a version`)
  http.status = statusOf(route, answer)
  http.set('Cache-Control', route.cache ?? (route.secret ? 'no-store' : 'private, no-cache'))
  if (route.status === 204) return
  http.type = 'application/json; charset=utf-8'
  http.body = JSON.stringify(versioned || answer instanceof Found ? answer.body : answer)
}

function statusOf({ status }: Route, answer: unknown): number {
  if (answer instanceof Found) return 200
  return answer instanceof Versioned && answer.created ? 201 : status
}

function accept(http: Context, { request }: Accepted): void {
  http.status = 202
  http.set({ Location: request.url, 'Preference-Applied': 'respond-async', 'Cache-Control': 'no-store' })
  http.type = 'application/json; charset=utf-8'
  http.body = JSON.stringify({ approval_request: request })
}
