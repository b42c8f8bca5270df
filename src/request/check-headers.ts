import type { Context } from 'koa'
import { ApiError } from '../errors.ts'
import { actions } from '../policy-engine/catalogue/actions.ts'
import { lettersBetween } from '../text/nearest-name.ts'
import { isRepeatable } from './change/repeatable-call.ts'
import type { Route } from './route.ts'

/** The methods whose requests can have `If-Match`. */
export const conditional: ReadonlySet<string> = new Set(['PUT', 'PATCH', 'DELETE'])

/** Whether a route reads `Approval-Request`. */
export const takesApproval = ({ action }: Pick<Route, 'action'>): boolean =>
  action !== 'public' && actions[action].gate

/**
 * Makes the step that refuses a header which misspells one that the route reads, or begins it with `X-`: the call would
 * run twice, without its approval, or over a newer version. Headers of proxies pass. Throws 400 `unknown_header`.
 */
export function headerCheck(route: Route): (http: Context) => void {
  const known = [
    ...(isRepeatable(route) ? ['Idempotency-Key'] : []),
    ...(takesApproval(route) ? ['Approval-Request'] : []),
    ...(conditional.has(route.method) ? ['If-Match'] : []),
  ].map((name) => ({ name, lower: name.toLowerCase(), most: name.length > 10 ? 3 : 2 }))
  return ({ req: { headers } }) => {
    for (const { name, lower, most } of known) {
      if (lower in headers) continue
      const wrong = Object.keys(headers).find((given) => isNear(given, lower, most))
      if (wrong !== undefined) throw unknownHeader(wrong, name)
    }
  }
}

function isNear(given: string, name: string, most: number): boolean {
  const rest = given.replace(/^x-/, '')
  return rest[0] === name[0] && lettersBetween(rest, name, most) <= most
}

function unknownHeader(given: string, meant: string): ApiError {
  const detail = `There is no header ${JSON.stringify(given)} here. Did you mean ${meant}?`
  const errors = [{ field: given, code: 'unknown_header', detail, meant }]
  return new ApiError(400, 'unknown_header', detail, { errors })
}
