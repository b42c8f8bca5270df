import type { Context } from 'koa'
import { ApiError, invalidField } from '../../errors.ts'
import { nearestName } from '../../text/nearest-name.ts'
import type { Route } from '../route.ts'
import { parsed } from './field-errors.ts'

/** Whether a route refuses parameters that it does not know: a misspelt filter would answer everything. */
export const refusesUnknownParameters = ({ method, path }: Pick<Route, 'method' | 'path'>): boolean =>
  method === 'GET' && path.startsWith('/api/v1/')

/** Makes the step that validates the query of a route. Throws 400. */
export function queryReader(route: Route): (http: Context) => unknown {
  const { query: schema } = route
  const isStrict = refusesUnknownParameters(route)
  const known = Object.keys(schema?.shape ?? {})
  return (http) => {
    if (!schema && !isStrict) return undefined
    const given = http.querystring === '' ? {} : flatQuery(http)
    if (isStrict) assertKnown(known, given)
    return parsed(schema, schema && given)
  }
}

function assertKnown(known: readonly string[], given: object): void {
  for (const name of Object.keys(given)) if (!known.includes(name)) throw unknownParameter(name, known)
}

/** Parameters for proxies, analytics and clients of Django REST framework. They change no answer. */
const isForOthers = (name: string, value: unknown) =>
  /^(_|utm_)/.test(name) || (name === 'format' && value === 'json')

function unknownParameter(name: string, known: readonly string[]): ApiError {
  const meant = nearestName(name, known)
  const shown = JSON.stringify(name.slice(0, 64))
  const hint = meant === null ? '' : ` Did you mean ${meant}?`
  const all = known.length === 0 ? 'It has none.' : `Known are ${known.join(', ')}.`
  const detail = `This address has no parameter ${shown}.${hint} ${all}`
  return new ApiError(400, 'unknown_parameter', detail, {
    errors: [{ field: name, code: 'unknown_parameter', detail, meant }],
    members: { known },
  })
}

/** Refuses a repeated parameter, because it is unclear which value counts. */
function flatQuery(http: Context): Record<string, string> {
  const flat: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(http.query)) {
    if (isForOthers(name, value)) continue
    if (Array.isArray(value)) throw invalidField(name, 'Give this parameter once.')
    if (value?.includes('\0') || value?.isWellFormed() === false)
      throw invalidField(name, 'Text must not contain NUL or lone surrogates.')
    if (value !== undefined) flat[name] = value
  }
  return flat
}
