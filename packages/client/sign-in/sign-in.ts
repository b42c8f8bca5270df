import * as oidc from 'openid-client'
import { type Answer, forScripts, json, ownPath, page, plain, redirect } from './answers.ts'
import { checkedBase, discover, once } from './configuration.ts'
import { failureOf, failurePage, SignInFailed } from './failures.ts'
import { cookieOf, sealer, withCookie } from './sealed-cookies.ts'
import {
  isDue,
  refresher,
  type Session,
  type Stored,
  sealSession,
  sessionOf,
  sessionSeconds,
  storedOf,
} from './session.ts'

export type { Session } from './session.ts'

export interface SignInOptions {
  /** `PUBLIC_URL` of the service. */
  issuer: string
  clientId: string
  /** Absent for a client without secrets. */
  clientSecret?: string | undefined
  /** Origin of your application, as browsers see it. Its redirect URI is `<baseUrl>/auth/callback`. */
  baseUrl: string
  /** Encrypts the cookies: 32 random characters or more. Of several, the first encrypts, and all decrypt. */
  cookieSecret: string | readonly string[]
  /** With spaces between them; `openid profile email` if absent. */
  scope?: string
  /** The path below which the steps are; `/auth` if absent. */
  path?: string
  /** Further parameters of each authorization request, such as `organization`. */
  parameters?: Record<string, string>
  /** A path to come back to after a sign-out; `<baseUrl><path>` is one of the client's `post_logout_redirect_uris`. */
  afterSignOut?: string
  /** A path that gets `?error=<code>` when a sign-in fails, in place of a plain page. */
  failurePath?: string
  /** s after which the service is asked again whether a session lasts; at most, and if absent, the life of its access token. */
  recheckSeconds?: number
  /** Is told each failure, for your log. */
  onError?(error: unknown): void
}

/** A request of a browser. `url` is its path with the query, as the browser sent it. */
export interface BrowserRequest {
  method: string
  url: string
  cookie: string | null | undefined
}

export interface Outcome {
  session: Session | null
  /** Values of `Set-Cookie` for the answer. */
  cookies: string[]
  /** `Cookie` of the request, with the session as it is now. */
  cookie: string
  /** The whole answer to a request for a step. */
  answer?: Answer
}

export interface SignIn {
  /**
   * Answers `GET …/sign-in`, `GET …/callback` and `POST …/sign-out` below `path`, and `…/session` for scripts. For other requests
   * it gives the session, which it refreshes when it is due; it throws `NoAnswer` if the service does not answer then.
   */
  handle(request: BrowserRequest): Promise<Outcome>
  /** The session of a `Cookie` header as it is; null if it is due to be refreshed. */
  session(cookie: string | null | undefined): Promise<Session | null>
  /** The path that signs in, and then leads to a path of yours. */
  pathTo(returnTo: string): string
  /** Throws if the service does not answer, or has another issuer. Await it when your application starts. */
  ready(): Promise<void>
}

/** What a request for a step can read, and what the step answers. `session`: to be stored; null: to be deleted. */
interface Asked {
  query: URLSearchParams
  cookie: BrowserRequest['cookie']
  stored: Stored | null
}
interface Led {
  to: string
  browser?: string
  session?: Stored | null
}

interface State {
  browser: string
  verifier: string
  nonce: string
  returnTo: string
}

/** How long a person may take, in s. */
const stateSeconds = 3_600
const forwarded = ['prompt', 'max_age', 'acr_values', 'login_hint', 'ui_locales', 'organization']

/** Signs people in by redirect: OpenID Connect with PKCE, and a session in an encrypted cookie. */
export function createSignIn(options: SignInOptions): SignIn {
  const { clientId, path = '/auth', afterSignOut, onError } = options
  const base = checkedBase(options.baseUrl)
  if (!URL.canParse(options.issuer))
    throw new TypeError('issuer is no address such as https://id.example.com.')
  if (!clientId) throw new TypeError('clientId is missing.')
  const seals = sealer([options.cookieSecret].flat(), clientId)
  // Applications on one host do not overwrite each other's cookies.
  const prefix = `${base.isSecure ? '__Host-' : ''}bailiwick-${clientId.slice(-6)}`
  const names = { session: `${prefix}-session`, browser: `${prefix}-sign-in` }
  const configuration = once(() => discover(options))
  const renew = refresher(configuration, options)
  const redirectUri = `${base.origin}${path}/callback`

  const setCookie = (name: string, value: string, age: number) =>
    `${name}=${value}; Path=/; Max-Age=${value ? age : 0}; HttpOnly; SameSite=Lax${base.isSecure ? '; Secure' : ''}`
  const storedIn = (cookie: Asked['cookie']) => seals.open<Stored>('session', cookieOf(cookie, names.session))
  const pathTo = (returnTo: string) => `${path}/sign-in?${new URLSearchParams({ return_to: returnTo })}`

  // The state has what the callback needs, encrypted: tabs that sign in side by side share the cookie that binds it.
  const begin = async ({ query, cookie }: Asked): Promise<Led> => {
    const config = await configuration()
    const known = cookieOf(cookie, names.browser)
    const browser = /^[\w-]{43}$/.test(known ?? '') ? known! : oidc.randomState()
    const verifier = oidc.randomPKCECodeVerifier()
    const nonce = oidc.randomNonce()
    const state: State = { browser, verifier, nonce, returnTo: ownPath(query.get('return_to')) }
    const asked = forwarded.flatMap((name) => (query.has(name) ? [[name, query.get(name)!]] : []))
    const to = oidc.buildAuthorizationUrl(config, {
      scope: options.scope ?? 'openid profile email',
      ...Object.fromEntries(asked),
      ...options.parameters,
      redirect_uri: redirectUri,
      state: await seals.seal('state', state, stateSeconds),
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    return { to: to.href, browser }
  }

  const finish = async ({ query, cookie, stored }: Asked): Promise<Led> => {
    const given = query.get('state') ?? ''
    const state = await seals.open<State>('state', given)
    // A code is sent once: someone who comes here by the button "back" is signed in already.
    if (!state || state.browser !== cookieOf(cookie, names.browser)) {
      if (stored) return { to: state?.returnTo ?? '/' }
      throw new SignInFailed(
        'state_not_valid',
        'This sign-in began in another browser, or took more than an hour.',
      )
    }
    const { verifier, nonce, returnTo } = state
    const checks = { expectedState: given, expectedNonce: nonce, pkceCodeVerifier: verifier }
    const answer = new URL(`${redirectUri}?${query}`)
    const tokens = await oidc.authorizationCodeGrant(await configuration(), answer, checks)
    return { to: returnTo, browser: '', session: storedOf(tokens, options.recheckSeconds) }
  }

  const end = async ({ stored }: Asked): Promise<Led> => {
    const here = afterSignOut ?? '/'
    if (!stored) return { to: here }
    try {
      const config = await configuration()
      const { revocation_endpoint: canRevoke } = config.serverMetadata()
      if (stored.refresh && canRevoke)
        await oidc.tokenRevocation(config, stored.refresh).catch((error) => onError?.(error))
      const to = oidc.buildEndSessionUrl(config, {
        ...(stored.id && { id_token_hint: stored.id }),
        ...(afterSignOut && { post_logout_redirect_uri: `${base.origin}${afterSignOut}` }),
      })
      return { to: to.href, session: null }
    } catch (error) {
      onError?.(error)
      return { to: here, session: null }
    }
  }

  const steps: Record<string, [method: string, step: (asked: Asked) => Promise<Led>]> = {
    '/sign-in': ['GET', begin],
    '/callback': ['GET', finish],
    '/sign-out': ['POST', end],
    '/session': ['DELETE', end],
  }

  /** The session that an outcome has, with the cookie that says so to the browser. */
  const leave = async (cookie: string, session: Stored | null, changed: boolean): Promise<Outcome> => {
    if (!changed) return { session: session && sessionOf(session), cookies: [], cookie }
    const value = session ? await sealSession(seals, session) : ''
    return {
      session: session && sessionOf(session),
      cookies: [setCookie(names.session, value, sessionSeconds)],
      cookie: withCookie(cookie, names.session, value),
    }
  }

  const fail = (error: unknown): Answer => {
    onError?.(error)
    const failed = failureOf(error)
    if (options.failurePath)
      return redirect(`${options.failurePath}?${new URLSearchParams({ error: failed.code })}`)
    return page(failed.status, failurePage(failed, `${path}/sign-in`))
  }

  /** The session of a request that is no step. */
  const look = async (cookie: string, stored: Stored | null): Promise<Outcome> =>
    stored && isDue(stored, 30) ? leave(cookie, await renew(stored), true) : leave(cookie, stored, false)

  const take = async (name: string, method: string, asked: Asked): Promise<Outcome> => {
    const cookie = asked.cookie ?? ''
    const unchanged = { session: asked.stored && sessionOf(asked.stored), cookies: [], cookie }
    const [allowed, step] = steps[name]!
    if (method !== allowed) {
      const text = `${path}${name} takes ${allowed}${allowed === 'POST' ? ': <form method="post">' : ''}.\n`
      const headers = { ...plain, allow: allowed }
      return { ...unchanged, answer: { status: 405, headers, body: text } }
    }
    try {
      const { to, browser, session } = await step(asked)
      const left = await leave(cookie, session === undefined ? asked.stored : session, session !== undefined)
      if (browser !== undefined) left.cookies.push(setCookie(names.browser, browser, stateSeconds))
      return { ...left, answer: method === 'DELETE' ? json({ to }) : redirect(to) }
    } catch (error) {
      return { ...unchanged, answer: fail(error) }
    }
  }

  return {
    async handle({ method, url, cookie }) {
      const [pathname = '', ...query] = url.split('?')
      const stored = await storedIn(cookie)
      const step = pathname.startsWith(path) ? pathname.slice(path.length) : ''
      const isRead = step === '/session' && method === 'GET'
      if (Object.hasOwn(steps, step) && !isRead)
        return take(step, method, { query: new URLSearchParams(query.join('?')), cookie, stored })
      const seen = await look(cookie ?? '', stored)
      return isRead ? { ...seen, answer: json(seen.session && forScripts(seen.session)) } : seen
    },
    async session(cookie) {
      const stored = await storedIn(cookie)
      return stored && !isDue(stored) ? sessionOf(stored) : null
    },
    pathTo,
    ready: async () => void (await configuration()),
  }
}
