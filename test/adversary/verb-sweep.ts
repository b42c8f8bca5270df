import type { Answer, Service } from '../helpers/service.ts'
import type { Attack, Stage, Tally } from './attack.ts'
import { addressOf, ownIds, routesOf } from './route-addresses.ts'

const verbs = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'MKCOL', 'LOCK', 'PURGE', 'SEARCH']
const rareVerbs = ['TRACE', 'COPY', 'MOVE', 'LINK', 'REPORT', 'UNLOCK', 'BIND', 'ACL', 'NOTIFY', 'QUERY']

/** Ways to name another method than that of the request line. */
const overrides: Record<string, string>[] = [
  { 'x-http-method-override': 'DELETE' },
  { 'x-http-method': 'DELETE' },
  { 'x-method-override': 'DELETE' },
]

export const verbSweep: Attack = {
  name: 'verbs',
  about: 'every method at every path, with and without a token; headers that name another method',
  async run(stage, tally) {
    const service = await stage.shared()
    const ada = await service.signUp()
    await otherMethods(stage, tally, service, ada)
    for (const headers of overrides) {
      const { status } = await ada.get(`/api/v1/tenants/${ada.tenantId}/?_method=DELETE`, { headers })
      tally.check(status === 200, `a GET stays a GET with ${Object.keys(headers)[0]}`)
    }
  },
}

async function otherMethods(
  stage: Stage,
  tally: Tally,
  service: Service,
  ada: { access: string; tenantId: string },
) {
  const routes = routesOf(service)
  const tried = stage.pick(verbs, [...verbs, ...rareVerbs], [...verbs, ...rareVerbs])
  /** A fixed word can match a parameter of another route. */
  const servedAt = (path: string) =>
    routes.filter((other) =>
      new RegExp(`^${other.path.replace(/:\w+/g, '[^/]+')}$`).test(path.replace(/:\w+/g, 'x')),
    )
  for (const [path, at] of Map.groupBy(routes, ({ path }) => path))
    for (const verb of tried) {
      if (servedAt(path).some(({ method }) => method === verb)) continue
      const address = addressOf(at[0]!, ...ownIds(at[0]!, ada))
      for (const token of [undefined, ada.access])
        await tally.refuse(`${verb} ${path}`, () => service.call(verb, address, { token }), isNotAllowed)
    }
}

const isNotAllowed = ({ status, body, headers }: Answer) =>
  status === 405 && body?.code === 'method_not_allowed' && /OPTIONS/.test(headers.get('allow') ?? '')
