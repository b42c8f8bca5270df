import { claimsOf } from '../helpers/service.ts'
import { type Attack, unauthorized } from './attack.ts'
import { forgeTokens } from './forged-tokens.ts'
import { addressOf, decidedRoutes, nameOf, ownIds } from './route-addresses.ts'

export const jwtMatrix: Attack = {
  name: 'tokens',
  about: 'forged and altered access tokens, and tokens of our own key with odd claims, at every route',
  async run(stage, tally) {
    const service = await stage.shared()
    const ada = await service.signUp()
    const { cases, oddClaims, fetched, close } = await forgeTokens(service, ada)
    const odd = await oddClaims(claimsOf(ada.access))
    const tokens = Object.entries({ ...cases, ...odd })
    const routes = decidedRoutes(service)
    // Every token meets some routes, and every route some tokens.
    const step = stage.pick(40, 8, 1)
    const isRefused = unauthorized('token_not_valid', 'session_revoked')
    for (const [n, [what, token]] of tokens.entries())
      for (const [m, route] of routes.entries()) {
        if ((n + m) % step !== 0) continue
        const send = () =>
          service.call(route.method, addressOf(route, ...ownIds(route, ada)), {
            token,
            ...(route.method !== 'GET' && { body: {} }),
          })
        await tally.refuse(`${what}: ${nameOf(route)}`, send, isRefused)
      }
    for (const [what, token] of Object.entries(await oddClaims(claimsOf(ada.refresh), { typ: 'rt+jwt' })))
      await tally.refuse(
        `refresh token with ${what}`,
        () => service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: token } }),
        [401],
      )
    for (const scheme of ['Basic', 'Token', 'JWT', 'Bearer:', 'Bearerx', 'Bearer\tx', ''])
      await tally.refuse(
        `the scheme "${scheme}"`,
        () => ada.get('/api/v1/users/me/', { headers: { authorization: `${scheme} ${ada.access}` } }),
        [401],
      )
    tally.check(fetched() === 0, 'no address of a header was fetched')
    tally.check((await ada.get('/api/v1/users/me/')).status === 200, 'the genuine token still works')
    tally.figures.push(`${tokens.length} tokens, ${routes.length} routes`)
    close()
  },
}
