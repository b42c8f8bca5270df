// next-auth 4, which works on Express as on the API routes of Next. Its default checks have no PKCE.
import { createRequire } from 'node:module'
import express from 'express'

const NextAuth = createRequire(import.meta.url)('next-auth').default
const { ISSUER, CLIENT_ID, CLIENT_SECRET, PORT } = process.env
process.env.NEXTAUTH_URL = `http://127.0.0.1:${PORT}`
const options = {
  secret: 'x'.repeat(32),
  providers: [
    {
      id: 'bailiwick',
      name: 'Bailiwick',
      type: 'oauth',
      wellKnown: `${ISSUER}/.well-known/openid-configuration`,
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      authorization: { params: { scope: 'openid profile email' } },
      idToken: true,
      profile: (claims) => ({ id: claims.sub, email: claims.email, name: claims.name }),
    },
  ],
  callbacks: {
    jwt: ({ token, profile }) => (profile ? { ...token, claims: profile } : token),
    session: ({ token }) => token.claims,
  },
}

const app = express()
app.use(express.urlencoded({ extended: false }))
app.use((request, _response, next) => {
  const pairs = (request.headers.cookie ?? '').split('; ').filter(Boolean)
  request.cookies = Object.fromEntries(
    pairs.map((one) => [one.split('=')[0], decodeURIComponent(one.slice(one.indexOf('=') + 1))]),
  )
  next()
})
const handle = (request, response) => {
  const step = request.path.slice('/api/auth/'.length).split('/')
  Object.defineProperty(request, 'query', { value: { ...request.query, nextauth: step } })
  return NextAuth(request, response, options)
}
app.get('/sign-in', async (_request, response) => {
  const answer = await fetch(`${process.env.NEXTAUTH_URL}/api/auth/csrf`)
  const { csrfToken } = await answer.json()
  response.setHeaders(new Map([['set-cookie', answer.headers.getSetCookie()]]))
  const hidden = `<input type="hidden" name="csrfToken" value="${csrfToken}">`
  response.send(
    `<form method="post" action="/api/auth/signin/bailiwick">${hidden}<button>Sign in</button></form>`,
  )
})
app.get('/', (request, response) => {
  request.url = '/api/auth/session'
  return handle(request, response)
})
app.use(handle)
app.listen(PORT, '127.0.0.1')
