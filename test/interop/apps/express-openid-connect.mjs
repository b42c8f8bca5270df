import express from 'express'
import openid from 'express-openid-connect'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, PORT } = process.env
const app = express()
app.use(
  openid.auth({
    issuerBaseURL: ISSUER,
    clientID: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    baseURL: `http://127.0.0.1:${PORT}`,
    secret: 'x'.repeat(32),
    authRequired: false,
    idTokenSigningAlg: 'RS256',
    authorizationParams: { response_type: 'code', scope: 'openid profile email' },
  }),
)
app.get('/sign-in', (_request, response) => response.oidc.login({ returnTo: '/' }))
app.get('/', async (request, response) => response.json(await request.oidc.fetchUserInfo()))
app.listen(PORT, '127.0.0.1')
