import { expressSignIn } from '@bailiwick/client/express'
import { createSignIn, type Session } from '@bailiwick/client/sign-in'
import express from 'express'

const { BAILIWICK_URL = 'http://localhost:3000', PORT = '4000' } = process.env
const { BASE_URL = `http://localhost:${PORT}`, CLIENT_ID, CLIENT_SECRET, COOKIE_SECRET } = process.env

const signIn = createSignIn({
  issuer: BAILIWICK_URL,
  clientId: CLIENT_ID!,
  clientSecret: CLIENT_SECRET,
  baseUrl: BASE_URL,
  cookieSecret: COOKIE_SECRET!,
  scope: 'openid profile email roles',
  afterSignOut: '/',
  onError: (error) => console.error(error),
})
await signIn.ready()

const app = express()
app.use(expressSignIn(signIn))
app.get('/', (_request, response) => {
  response.send('<h1>Shop</h1><p><a href="/orders">Your orders</a></p>')
})
app.get('/orders', (request, response) => {
  const session: Session | null = response.locals.session
  if (!session) return response.redirect(signIn.pathTo(request.originalUrl))
  // Names are what people typed: escape them in HTML.
  return response.json({ of: session.userId, in: session.tenantId, roles: session.claims.roles })
})
app.get('/delete', (request, response) => {
  // What matters asks for a second factor, shown a moment ago.
  if (response.locals.session?.claims.acr !== 'aal2')
    return response.redirect(`${signIn.pathTo(request.originalUrl)}&acr_values=aal2`)
  return response.send('<form method="post"><button>Delete all orders</button></form>')
})

export const server = app.listen(Number(PORT))
