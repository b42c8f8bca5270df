// Auth.js, without a framework: what next-auth 5, SvelteKit and Express adapters call.
import { createServer } from 'node:http'
import { Auth, skipCSRFCheck } from '@auth/core'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, PORT } = process.env
const origin = `http://127.0.0.1:${PORT}`
const config = {
  basePath: '/api/auth',
  secret: 'x'.repeat(32),
  trustHost: true,
  skipCSRFCheck,
  providers: [
    {
      id: 'bailiwick',
      name: 'Bailiwick',
      type: 'oidc',
      issuer: ISSUER,
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      authorization: { params: { scope: 'openid profile email' } },
      checks: ['pkce', 'state'],
    },
  ],
  callbacks: {
    jwt: ({ token, profile }) => (profile ? { ...token, claims: profile } : token),
    session: ({ token }) => token.claims,
  },
}

createServer(async (request, response) => {
  const isStart = request.url === '/sign-in'
  const url = isStart
    ? '/api/auth/signin/bailiwick?callbackUrl=/'
    : request.url === '/'
      ? '/api/auth/session'
      : request.url
  const asked = new Request(`${origin}${url}`, {
    method: isStart ? 'POST' : 'GET',
    headers: { ...request.headers, ...(isStart && { 'content-type': 'application/x-www-form-urlencoded' }) },
    ...(isStart && { body: '' }),
  })
  const answer = await Auth(asked, config)
  response.statusCode = answer.status
  response.setHeaders(answer.headers)
  response.end(await answer.text())
}).listen(PORT, '127.0.0.1')
