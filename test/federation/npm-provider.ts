import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import type { Test } from 'tap'

/**
 * A provider that others wrote, with pages on which each name and password signs in. `open` makes it know the client `bailiwick` with
 * this redirect URI. Each person `x` has the address `x@` and `domain`.
 */
export async function startNpmProvider(t: Pick<Test, 'teardown'>, domain: string) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`
  const client_secret = 'a-secret.of~a_test'
  const open = (redirectUri: string) => {
    const provider = new Provider(issuer, {
      clients: [{ client_id: 'bailiwick', client_secret, redirect_uris: [redirectUri] }],
      claims: { openid: ['sub'], email: ['email', 'email_verified'] },
      cookies: { keys: ['of a test'] },
      findAccount: (_, accountId) => ({
        accountId,
        claims: () => ({ sub: `id-of-${accountId}`, email: `${accountId}@${domain}`, email_verified: true }),
      }),
    })
    server.on('request', provider.callback())
  }
  return { oidc: { issuer, client_id: 'bailiwick', client_secret }, open }
}
