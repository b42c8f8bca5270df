import type { OAuthClient } from '@bailiwick/client'

/** What an application is configured with. */
export interface Settings {
  issuer: string
  clientId: string
  secret: string
  redirectUri: string
  /** With spaces between them. */
  scope: string
  /** Signs ID tokens. */
  algorithm: string
  /** How the client shows its secret. */
  authentication: OAuthClient['token_endpoint_auth_method']
}

interface Snippet {
  name: string
  kind: OAuthClient['kind']
  /** The path at which the library takes the answer; null if the application chooses it. */
  callback: string | null
  /** The text of each file, by name. */
  files: (settings: Settings) => Record<string, string>
}

const isPost = (authentication: Settings['authentication']) => authentication === 'client_secret_post'

/** What is pasted into an application, by the library or product that it signs people in with. */
export const snippets: readonly Snippet[] = [
  {
    name: 'Next.js with Auth.js',
    kind: 'web',
    callback: '/api/auth/callback/bailiwick',
    files: ({ issuer, clientId, secret, scope, authentication }) => ({
      '.env.local': `# npx auth secret adds AUTH_SECRET
AUTH_BAILIWICK_ISSUER=${issuer}
AUTH_BAILIWICK_ID=${clientId}
AUTH_BAILIWICK_SECRET=${secret}`,
      'auth.ts': `import NextAuth from 'next-auth'

export const { handlers, auth, signIn, signOut } = NextAuth({
  providers: [
    {
      id: 'bailiwick',
      name: 'Bailiwick',
      type: 'oidc',
      issuer: process.env.AUTH_BAILIWICK_ISSUER,
      clientId: process.env.AUTH_BAILIWICK_ID,
      clientSecret: process.env.AUTH_BAILIWICK_SECRET,
      client: { token_endpoint_auth_method: '${authentication}' },
      authorization: { params: { scope: '${scope}' } },
      checks: ['pkce', 'state'],
    },
  ],
})`,
      'app/api/auth/[...nextauth]/route.ts': `import { handlers } from '@/auth'

export const { GET, POST } = handlers`,
    }),
  },
  {
    name: 'Express with openid-client 6',
    kind: 'web',
    callback: null,
    files: ({ issuer, clientId, secret, redirectUri, scope, authentication }) => ({
      '.env': `CLIENT_SECRET=${secret}
# and SESSION_SECRET, from: openssl rand -hex 32`,
      'server.mjs': `// npm install express express-session openid-client; node --env-file=.env server.mjs
import express from 'express'
import session from 'express-session'
import * as oidc from 'openid-client'

const redirectUri = '${redirectUri}'
const method = oidc.${isPost(authentication) ? 'ClientSecretPost' : 'ClientSecretBasic'}(process.env.CLIENT_SECRET)
const config = await oidc.discovery(new URL('${issuer}'), '${clientId}', undefined, method${
        issuer.startsWith('http:') ? ', { execute: [oidc.allowInsecureRequests] }' : ''
      })
const app = express()
app.use(session({ secret: process.env.SESSION_SECRET, resave: false, saveUninitialized: false }))

app.get('/login', async (request, response) => {
  const pkceCodeVerifier = oidc.randomPKCECodeVerifier()
  const expectedState = oidc.randomState()
  request.session.checks = { pkceCodeVerifier, expectedState }
  const query = {
    redirect_uri: redirectUri,
    scope: '${scope}',
    state: expectedState,
    code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  }
  response.redirect(oidc.buildAuthorizationUrl(config, query).href)
})

app.get(new URL(redirectUri).pathname, async (request, response, next) => {
  const answer = new URL(redirectUri)
  answer.search = new URL(request.originalUrl, redirectUri).search
  const tokens = await oidc.authorizationCodeGrant(config, answer, request.session.checks)
  request.session.regenerate((error) => {
    if (error) return next(error)
    request.session.user = tokens.claims()
    response.redirect('/')
  })
})

app.listen(3000)`,
    }),
  },
  {
    name: 'Spring Boot',
    kind: 'web',
    callback: '/login/oauth2/code/bailiwick',
    files: ({ issuer, clientId, secret, scope, authentication }) => ({
      'application.yml': `# With spring-boot-starter-oauth2-client (Spring Boot 4: spring-boot-starter-security-oauth2-client)
spring:
  security:
    oauth2:
      client:
        registration:
          bailiwick:
            client-id: "${clientId}"
            client-secret: "${secret}"
            client-authentication-method: ${authentication}
            scope: [${scope
              .split(' ')
              .map((one) => `"${one}"`)
              .join(', ')}]
        provider:
          bailiwick:
            issuer-uri: "${issuer}"`,
    }),
  },
  {
    name: 'Django with mozilla-django-oidc',
    kind: 'web',
    callback: '/oidc/callback/',
    files: ({ issuer, clientId, secret, scope, algorithm, authentication }) => ({
      'settings.py': `INSTALLED_APPS += ["mozilla_django_oidc"]  # after django.contrib.auth
AUTHENTICATION_BACKENDS = ["mozilla_django_oidc.auth.OIDCAuthenticationBackend"]
OIDC_RP_CLIENT_ID = "${clientId}"
OIDC_RP_CLIENT_SECRET = "${secret}"
OIDC_RP_SCOPES = "${scope}"
OIDC_RP_SIGN_ALGO = "${algorithm}"
OIDC_TOKEN_USE_BASIC_AUTH = ${isPost(authentication) ? 'False' : 'True'}
OIDC_USE_PKCE = True
OIDC_OP_AUTHORIZATION_ENDPOINT = "${issuer}/oauth/authorize"
OIDC_OP_TOKEN_ENDPOINT = "${issuer}/oauth/token"
OIDC_OP_USER_ENDPOINT = "${issuer}/oauth/userinfo"
OIDC_OP_JWKS_ENDPOINT = "${issuer}/.well-known/jwks.json"
LOGIN_URL = "oidc_authentication_init"
LOGIN_REDIRECT_URL = "/"`,
      'urls.py': `from django.urls import include, path

urlpatterns += [path("oidc/", include("mozilla_django_oidc.urls"))]`,
    }),
  },
  {
    name: 'Grafana',
    kind: 'web',
    callback: '/login/generic_oauth',
    files: ({ issuer, clientId, secret, scope }) => ({
      'grafana.ini': `; root_url of [server] is the address that people type
[auth.generic_oauth]
enabled = true
name = Bailiwick
client_id = ${clientId}
client_secret = ${secret}
scopes = ${scope}
auth_url = ${issuer}/oauth/authorize
token_url = ${issuer}/oauth/token
api_url = ${issuer}/oauth/userinfo
use_pkce = true
use_refresh_token = ${scope.split(' ').includes('offline_access')}`,
    }),
  },
  {
    name: 'oauth2-proxy',
    kind: 'web',
    callback: '/oauth2/callback',
    files: ({ issuer, clientId, secret, redirectUri, scope }) => ({
      'oauth2-proxy.cfg': `provider = "oidc"
provider_display_name = "Bailiwick"
oidc_issuer_url = "${issuer}"
client_id = "${clientId}"
client_secret = "${secret}"
redirect_url = "${redirectUri}"
scope = "${scope}"
code_challenge_method = "S256"
email_domains = ["*"]
upstreams = ["http://127.0.0.1:8080/"]
# openssl rand -base64 32 | tr -- '+/' '-_'
cookie_secret = ""`,
    }),
  },
  {
    name: 'Apache with mod_auth_openidc',
    kind: 'web',
    callback: null,
    files: ({ issuer, clientId, secret, redirectUri, scope, authentication }) => ({
      'openidc.conf': `OIDCProviderMetadataURL "${issuer}/.well-known/openid-configuration"
OIDCClientID "${clientId}"
OIDCClientSecret "${secret}"
OIDCRedirectURI "${redirectUri}"
OIDCScope "${scope}"
OIDCPKCEMethod S256
OIDCProviderTokenEndpointAuth ${authentication}
OIDCCryptoPassphrase "exec:/bin/cat /etc/apache2/oidc-passphrase"

# No content may have the address of OIDCRedirectURI, but this has to protect it
<Location "/">
  AuthType openid-connect
  Require valid-user
</Location>`,
    }),
  },
  {
    name: 'oidc-client-ts',
    kind: 'spa',
    callback: null,
    files: ({ issuer, clientId, redirectUri, scope }) => ({
      'auth.ts': `import { UserManager } from 'oidc-client-ts'

export const users = new UserManager({
  authority: '${issuer}',
  client_id: '${clientId}',
  redirect_uri: '${redirectUri}',
  scope: '${scope}',
})

// Sign in: await users.signinRedirect()
// At the redirect URI: const user = await users.signinCallback()`,
    }),
  },
]

/** The redirect URI that an application uses for a snippet, and whether the client has it. */
export function redirectUriFor({ callback }: Snippet, { redirect_uris: known }: OAuthClient) {
  const [first = ''] = known
  const redirectUri = known.find((one) => callback === null || one.endsWith(callback))
  if (redirectUri) return { redirectUri, isKnown: true }
  return { redirectUri: new URL(callback ?? '', first).href, isKnown: false }
}
