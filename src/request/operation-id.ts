import type { Route } from './route.ts'

/**
 * The operation's id in the OpenAPI document, in snake case, such as `member_create`. It depends on the route only, so
 * a new route never renames another one in generated clients.
 */
export function operationId(route: Route): string {
  const path = route.path.replace(/^\/api\/v1(?=\/)/, '').split('/')
  const segments = path.filter((segment) => segment !== '' && !segment.startsWith(':'))
  if (route.action === 'public') return words(segments.join('-')).join('_')
  const action = words(actionOnOne(route))
  const more = words(segments.at(-1) ?? '').filter(
    (word) => !action.includes(word) && !isPlural(word, action),
  )
  const isOwn = segments[1] === 'me' && segments.length > 2 && !action.includes('own')
  return [
    ...action,
    ...more,
    ...(route.kind === 'bulk' ? ['many'] : []),
    ...(isOwn ? ['own'] : []),
    ...(route.method === 'PATCH' ? ['partial'] : []),
    ...(route.file ? ['upload'] : []),
    // Below an object: the POST that adds is named alike.
    ...(isRemoval(route) ? ['remove'] : []),
  ].join('_')
}

const isRemoval = ({ method, action, path }: Route) =>
  method === 'DELETE' && action.endsWith(':update') && /:\w+$/.test(path)

/** One action often covers a list and its entries; their operation ids must differ. */
const actionOnOne = ({ action, method, path }: Route) =>
  method === 'GET' && /:\w+$/.test(path) ? action.replace(/:list$/, ':read') : action

const words = (text: string): string[] => text.toLowerCase().match(/[a-z0-9]+/g) ?? []

const isPlural = (word: string, singulars: string[]) =>
  singulars.some((one) => word === `${one}s` || word === one.replace(/y$/, 'ies'))
