// oauth4webapi: what openid-client is built on, with nothing in between.
import { createServer } from 'node:http'
import * as oauth from 'oauth4webapi'

const { ISSUER, CLIENT_ID: client_id, CLIENT_SECRET, PORT } = process.env
const redirectUri = `http://127.0.0.1:${PORT}/callback`
const insecure = { [oauth.allowInsecureRequests]: true }
const issuer = new URL(ISSUER)
const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
const as = await oauth.processDiscoveryResponse(issuer, found)
const client = { client_id }
const verifier = oauth.generateRandomCodeVerifier()
const state = oauth.generateRandomState()

createServer(async (request, response) => {
  const url = new URL(request.url, redirectUri)
  if (url.pathname !== '/callback') {
    const to = new URL(as.authorization_endpoint)
    to.search = new URLSearchParams({
      client_id,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'openid email',
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    return response.writeHead(302, { location: to.href }).end()
  }
  const answer = oauth.validateAuthResponse(as, client, url, state)
  const authentication = oauth.ClientSecretPost(CLIENT_SECRET)
  const exchange = [as, client, authentication, answer, redirectUri, verifier, insecure]
  const granted = await oauth.authorizationCodeGrantRequest(...exchange)
  const tokens = await oauth.processAuthorizationCodeResponse(as, client, granted, { requireIdToken: true })
  await oauth.validateApplicationLevelSignature(as, granted, insecure)
  const asked = await oauth.userInfoRequest(as, client, tokens.access_token, insecure)
  const { sub } = oauth.getValidatedIdTokenClaims(tokens)
  const info = await oauth.processUserInfoResponse(as, client, sub, asked)
  response.end(JSON.stringify(info))
}).listen(PORT, '127.0.0.1')
