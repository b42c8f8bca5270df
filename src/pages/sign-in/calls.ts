import type { Context } from 'koa'
import { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { type RegisterBody, registerUnseen } from '../../identity/auth/register.ts'
import { showPassword } from '../../identity/auth/show-password.ts'
import { confirmVerification } from '../../identity/email-verification/confirm-verification.ts'
import { presentedPassword } from '../../identity/person.ts'
import { type FactorDue, handOut, type Opened } from '../../identity/sign-in/outcome.ts'
import { type Registered, signInRegistered } from '../../identity/sign-in/sign-in-registered.ts'
import type { Connection } from '../../request/caller.ts'
import type { PathDeps } from '../../request/request-context.ts'
import { type RouteCall, routeCall } from '../../request/request-path.ts'
import type { AnyInput, Method, Route } from '../../request/route.ts'
import type { VerifyDeps } from '../../request/verify-token.ts'
import { type Holder, holderOf } from '../../tenancy/roles/grantable-roles.ts'
import { loginCookie } from '../browser-session/cookie.ts'
import { cookieCredentials } from '../browser-session/credentials.ts'
import type { RequestOf } from './brand.ts'

export type PageDeps = Deps & PathDeps & VerifyDeps & { requestOf: RequestOf }

/** The calls of the API that the pages make. The pages add no rules of their own: each answers as it does to a program. */
export function callsOf(deps: PageDeps, routes: readonly Route[]) {
  const session = cookieCredentials(deps, loginCookie, 'session')
  const waiting = cookieCredentials(deps, loginCookie, 'pending')
  const newcomer = { ...session, arePresent: () => false }
  const find = (method: Method, path: string): Route => {
    const route = routes.find((one) => one.method === method && one.path === `/api/v1/${path}`)
    if (!route) throw new Error(`The sign-in pages need ${method} /api/v1/${path}`)
    return route
  }
  const call = (method: Method, path: string, credentials = session): RouteCall =>
    routeCall(deps, find(method, path), credentials)
  // A page answers alike for free and taken addresses, whatever the settings say.
  const unseen = {
    ...find('POST', 'auth/register'),
    handle: ({ requestInfo, body }: AnyInput) => registerUnseen(deps, requestInfo, body as RegisterBody),
  } as Route
  // A page goes on only for the person whose address the link has proven.
  const naming = {
    ...find('POST', 'auth/email/verify/confirm'),
    handle: async ({ requestInfo, body }: AnyInput) => ({
      userId: await confirmVerification(deps, requestInfo, (body as { token: string }).token),
    }),
  } as Route
  // In place of a second factor, for a person who has none.
  const byPassword = {
    ...find('POST', 'auth/otp/verify'),
    body: z.object({ password: presentedPassword }),
    handle: ({ caller, body }: AnyInput) =>
      showPassword(deps, caller!, (body as { password: string }).password),
  } as Route
  const facing = routeCall(
    deps,
    { ...find('GET', 'users/me'), versioned: false, handle: hereOf } as Route,
    session,
  )
  return {
    /** The calls of another part of the service, in the session of the browser. */
    of: (route: Route): RouteCall => routeCall(deps, route, session),
    /** Who is signed in; null also for a person who may not use the tenant that they are in, which the pages tell them. */
    async whoIsHere(http: Context): Promise<Here | null> {
      try {
        return (await facing(http)) as Here
      } catch (error) {
        if (error instanceof ApiError && (error.status === 401 || error.status === 403)) return null
        throw error
      }
    },
    register: routeCall(deps, unseen, session),
    async signInRegistered(http: Context, registered: Registered) {
      const outcome = await signInRegistered(deps, http.state.requestInfo, registered)
      return outcome && session.handOut(http, handOut(outcome))
    },
    /** Gives the browser what a sign-in opened that is none of the API. */
    keep: (http: Context, outcome: Opened | FactorDue) =>
      session.handOut(http, handOut(outcome)) as Promise<SignInAnswer>,
    mailReset: call('POST', 'auth/password/reset'),
    mailLink: call('POST', 'auth/magic-link'),
    logIn: call('POST', 'auth/login'),
    passkeyOptions: call('POST', 'auth/passkeys/login/options'),
    usePasskey: call('POST', 'auth/passkeys/login'),
    ownPasskeyOptions: call('POST', 'auth/passkeys/verify/options', waiting),
    showPasskey: call('POST', 'auth/passkeys/verify', waiting),
    setUpPasskeyOptions: call('POST', 'auth/passkeys/registration', waiting),
    setUpPasskey: call('POST', 'auth/passkeys', waiting),
    makeRecoveryCodes: call('POST', 'auth/otp/static/generate'),
    setUpApp: call('POST', 'auth/otp/totp/setup', waiting),
    confirmApp: call('POST', 'auth/otp/totp/confirm', waiting),
    showFactor: call('POST', 'auth/otp/verify', waiting),
    mailCode: call('POST', 'auth/otp/email/send', waiting),
    devices: call('GET', 'auth/otp/devices'),
    showOwnPassword: routeCall(deps, byPassword, session),
    showOwnFactor: call('POST', 'auth/otp/verify'),
    mailOwnCode: call('POST', 'auth/otp/email/send'),
    stepUpOptions: call('POST', 'auth/passkeys/verify/options'),
    showOwnPasskey: call('POST', 'auth/passkeys/verify'),
    profile: call('GET', 'users/me'),
    invitations: call('GET', 'users/me/invitations'),
    switchTenant: call('POST', 'auth/switch-tenant'),
    logOut: call('POST', 'auth/logout'),
    mailVerification: call('POST', 'auth/email/verify/send'),
    confirmAddress: routeCall(deps, naming, session),
    rejectAddress: call('POST', 'auth/email/verify/reject'),
    resetPassword: call('POST', 'auth/password/reset/confirm'),
    undoAddress: call('POST', 'auth/email/undo'),
    undoFactor: call('POST', 'auth/otp/undo'),
    undoIdentity: call('POST', 'auth/identities/undo'),
    acceptInvitation: call('POST', 'invitations/accept'),
    beginToAccept: call('POST', 'invitations/accept/options'),
    acceptReceived: call('POST', 'users/me/invitations/:id/accept'),
    acceptAsNewcomer: call('POST', 'invitations/accept', newcomer),
    confirmMagicLink: call('POST', 'auth/magic-link/confirm'),
    leaveTenant: call('POST', 'tenants/leave'),
  }
}

export type Calls = ReturnType<typeof callsOf>

/** The person of a browser, and what their session has shown in the tenant that it is in. */
export interface Here {
  userId: string
  tenantId: string
  membershipId: string
  /** What the person may do in the tenant. */
  member: Holder
  sessionId: string
  mfaEnabled: boolean
  acr: 'aal1' | 'aal2'
  amr: readonly string[]
  /** s since 1970 */
  authTime: number
  /** By which they signed in; null: another way. */
  connection: Connection | null
}

function hereOf({ caller }: AnyInput): Here {
  const { userId, tenantId, sessionId, auth } = caller!
  const { acr, amr, authTime, connection } = auth.session
  return {
    userId,
    tenantId,
    membershipId: auth.membership!.id,
    member: holderOf(caller!),
    sessionId,
    mfaEnabled: auth.user.mfaEnabled,
    acr,
    amr,
    authTime: Math.floor(authTime / 1000),
    connection,
  }
}

/** What a sign-in answers to a browser. */
export interface SignInAnswer {
  authenticated?: boolean
  otp_required?: boolean
  methods?: string[]
  counts_from?: string | null
}

/** The answer, or null where there is no session that is signed in. */
export async function unlessSignedOut<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null
    throw error
  }
}
