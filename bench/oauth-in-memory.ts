import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import Provider, { type Adapter, type AdapterPayload } from 'oidc-provider'
import { codeChallenge, modulusLength, redirectUri, scope } from './oauth.ts'

// The library with its own storage: what the protocol alone costs. `/codes` gives codes, without a sign-in.

const models = new Map<string, AdapterPayload>()

const { privateKey } = generateKeyPairSync('rsa', { modulusLength })
const provider = new Provider('http://localhost', {
  jwks: { keys: [privateKey.export({ format: 'jwk' })] } as never,
  clients: [
    {
      client_id: 'bench',
      client_secret: 'bench',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
    },
  ],
  // Its own adapter keeps a thousand models, and forgets the others.
  adapter: (kind) =>
    ({
      upsert: async (id, payload) => void models.set(`${kind} ${id}`, payload),
      find: async (id) => models.get(`${kind} ${id}`),
      consume: async (id) => void Object.assign(models.get(`${kind} ${id}`)!, { consumed: 1 }),
      destroy: async (id) => void models.delete(`${kind} ${id}`),
      revokeByGrantId: async () => undefined,
    }) satisfies Partial<Adapter> as never,
  routes: { token: '/oauth/token', userinfo: '/oauth/userinfo' },
  claims: { openid: ['sub'], profile: ['name'], email: ['email'] },
  conformIdTokenClaims: false,
  features: { devInteractions: { enabled: false } },
  issueRefreshToken: async () => true,
  rotateRefreshToken: true,
  findAccount: async (_ctx, accountId) => ({
    accountId,
    claims: async () => ({ sub: accountId, name: 'Ada', email: 'ada@example.com' }),
  }),
})
const answer = provider.callback()

async function codes(count: number): Promise<string[]> {
  const client = (await provider.Client.find('bench'))!
  const made: string[] = []
  for (let n = 0; n < count; n++) {
    const grant = new provider.Grant({ accountId: 'ada', clientId: 'bench' })
    grant.addOIDCScope(scope)
    const code = new provider.AuthorizationCode({
      ...{ accountId: 'ada', client, redirectUri, scope, codeChallenge, codeChallengeMethod: 'S256' },
      ...{ authTime: Math.floor(Date.now() / 1000), expiresWithSession: false, gty: 'authorization_code' },
      grantId: await grant.save(),
    } as never)
    made.push(await code.save())
  }
  return made
}

createServer(async (request, response) => {
  if (request.url === '/codes') response.end(JSON.stringify(await codes(Number(process.env.COUNT))))
  else answer(request, response)
}).listen(Number(process.env.PORT), process.env.HOST)

process.on('SIGTERM', () => process.exit(0))
