// A program on a computer: it opens a browser, and listens on loopback for the answer (RFC 8252 §7.3).
import { createServer } from 'node:http'
import * as oidc from 'openid-client'

const { ISSUER, CLIENT_ID } = process.env
const server = createServer().listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const redirectUri = `http://127.0.0.1:${server.address().port}/callback`
const insecure = ISSUER.startsWith('http:') ? { execute: [oidc.allowInsecureRequests] } : {}
const config = await oidc.discovery(new URL(ISSUER), CLIENT_ID, undefined, oidc.None(), insecure)
const pkceCodeVerifier = oidc.randomPKCECodeVerifier()
const expectedState = oidc.randomState()
const url = oidc.buildAuthorizationUrl(config, {
  redirect_uri: redirectUri,
  scope: 'openid email offline_access',
  state: expectedState,
  code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
  code_challenge_method: 'S256',
})
console.log(url.href) // open it in the person's browser

server.on('request', async (request, response) => {
  const answer = new URL(request.url, redirectUri)
  if (answer.pathname !== '/callback') return response.writeHead(404).end()
  const tokens = await oidc.authorizationCodeGrant(config, answer, { pkceCodeVerifier, expectedState })
  response.setHeader('connection', 'close')
  response.end('You are signed in. Close this window.')
  server.close()
  const renewed = await oidc.refreshTokenGrant(config, tokens.refresh_token)
  console.log(JSON.stringify(renewed.claims()))
})
