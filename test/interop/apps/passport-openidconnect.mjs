import express from 'express'
import session from 'express-session'
import passport from 'passport'
import { Strategy } from 'passport-openidconnect'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, PORT } = process.env
passport.use(
  new Strategy(
    {
      issuer: ISSUER,
      authorizationURL: `${ISSUER}/oauth/authorize`,
      tokenURL: `${ISSUER}/oauth/token`,
      userInfoURL: `${ISSUER}/oauth/userinfo`,
      clientID: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      callbackURL: `http://127.0.0.1:${PORT}/callback`,
      scope: ['profile', 'email'],
    },
    (_issuer, { id, emails }, done) => done(null, { sub: id, email: emails[0].value }),
  ),
)
passport.serializeUser((user, done) => done(null, user))
passport.deserializeUser((user, done) => done(null, user))

const app = express()
app.use(session({ secret: 'x'.repeat(32), resave: false, saveUninitialized: false }))
app.use(passport.session())
app.get('/sign-in', passport.authenticate('openidconnect'))
app.get('/callback', passport.authenticate('openidconnect', { successRedirect: '/' }))
app.get('/', (request, response) => response.json(request.user ?? null))
app.listen(PORT, '127.0.0.1')
