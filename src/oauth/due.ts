import { readInTenant } from '../database/executor/read.ts'
import { ApiError } from '../errors.ts'
import { earliestId } from '../messages/outbox/time-ordered-id.ts'
import type { Calls, Here, PageDeps } from '../pages/sign-in/calls.ts'
import { isOnlyAdded } from '../tenancy/members/person-store.ts'
import { type AccessCalls, type AccessDue, accessOf, decideAccess, whyOf } from './access/decide-access.ts'
import { recordDenial } from './access/record-denial.ts'
import type { OwnClient } from './client-metadata.ts'
import { redirectHost } from './clients/client-schemas.ts'
import { isConsented } from './consents.ts'
import { giveGrant } from './grants/give-grant.ts'
import {
  isOfDevice,
  type Library,
  type OidcContext,
  type OwnGrant,
  type OwnState,
  type Provider,
} from './provider-types.ts'
import { ownClient, settleTenant } from './tenant-of-request.ts'
import { grantable } from './tokens/grantable.ts'

// An authorization request is answered when its person is signed in for the tenant of the client, as freshly and as strongly
// as it asks, the policies of the tenant let them in, and they have consented. What is missing is a page of the sign-in, which
// leads back to the request.

/** What a request still asks of its person: a page below `/sign-in/`. */
export type Due =
  | { prompt: 'login' | 'select_account'; page: string }
  | { prompt: 'consent'; page: string; details: { tenantId: string } }
  | AccessDue

/** What the pages wrote into a request, and since when (s) a sign-in counts as one for it. */
interface RequestResult {
  since?: number
  consent?: { userId: string; sessionId: string; tenantId: string }
  /** The person who asks for an approval. */
  asks?: string
}

const expired = { ignoreExpiration: true }
const login = (page: string): Due => ({ prompt: 'login', page })

interface Asked {
  deps: PageDeps
  calls: Calls
  library: Library
  access: AccessCalls
  ctx: OidcContext
}

export const ownState = (ctx: OidcContext): OwnState => ctx.state.oauth

/** Grants the request, or notes what is due. Throws the library's errors for what no page can help with. */
export async function settle(asked: Asked, provider: Provider): Promise<OwnGrant | undefined> {
  const { ctx, library } = asked
  // The client can have changed while the pages led here.
  if (!isOfDevice(ctx) && !ctx.oidc.client!.redirectUriAllowed(String(ctx.oidc.params?.redirect_uri)))
    throw new library.errors.InvalidRedirectUri()
  // Two browsers can have the pages of one pushed request open.
  const { parJti } = (ctx.oidc.entities.Interaction ?? {}) as { parJti?: string }
  const pushed = parJti ? await provider.PushedAuthorizationRequest.find(parJti, expired) : null
  if (pushed?.consumed) throw new library.errors.InvalidRequestUri('It was used already')
  const state = ownState(ctx)
  await settleTenant(asked, state)
  if (state.due) return undefined
  const { here, due } = await signedIn(asked, ownClient(ctx), state.here!)
  if (due) {
    state.due = due
    return undefined
  }
  Object.assign(ctx.oidc.session!, { acr: here.acr, amr: here.amr, loginTs: here.authTime })
  const granting = grantable(ctx, here.member)
  const consent = await consentOf(asked, here, granting.consented)
  const { scopes } = granting
  const stopped = await accessDue(asked, here, { scopes, isLast: consent !== 'due' })
  if (stopped || consent === 'due') {
    const { tenantId } = here
    state.due = stopped ?? { prompt: 'consent', page: 'consent', details: { tenantId } }
    return undefined
  }
  return giveGrant(asked, provider, { here, granting, keeps: consent === 'given' })
}

/** The person for the tenant of the client, or what they have to do first. */
async function signedIn(asked: Asked, client: OwnClient, at: Here): Promise<{ here: Here; due: Due | null }> {
  const { ctx, library, deps } = asked
  const here = at.tenantId === client.tenantId ? at : await enter(asked, client.tenantId, at)
  if ('prompt' in here) return { here: at, due: here }
  const { params, entities } = ctx.oidc
  const prompts = String(params?.prompt ?? '').split(' ')
  const age = deps.clock() / 1000 - here.authTime
  const isStale = params?.max_age !== undefined && age > Number(params.max_age)
  const began = beganAt(asked)
  if ((isStale || prompts.includes('login')) && here.authTime < began)
    return { here, due: login(isStale && here.connection ? `with/${here.connection.id}` : 'address') }
  const isBefore = began === Number.POSITIVE_INFINITY || here.sessionId < earliestId(began * 1000)
  const hinted = entities.IdTokenHint?.payload.sub
  if ((prompts.includes('select_account') && isBefore) || (hinted && hinted !== here.userId))
    return { here, due: login('address') }
  const classes = String(params?.acr_values ?? '').split(' ')
  if (classes.includes('aal2') && !classes.includes('aal1') && here.acr === 'aal1') {
    if (!here.mfaEnabled)
      throw new library.errors.UnmetAuthenticationRequirements('The person has no second factor')
    return { here, due: login('step-up') }
  }
  return { here, due: null }
}

/** When the request began, in s: a later sign-in is one for it. It is kept while the pages lead back to the request. */
function beganAt({ deps, ctx }: Asked): number {
  const { Interaction: before } = ctx.oidc.entities
  const known = (before?.result as RequestResult)?.since ?? (before?.lastSubmission as RequestResult)?.since
  const since = known ?? Math.floor(before?.iat ?? deps.clock() / 1000)
  Object.assign(ctx.oidc, { result: { ...ctx.oidc.result, since } })
  return before ? since : Number.POSITIVE_INFINITY
}

/**
 * Takes the browser's session into the tenant of the client, by the rules of every switch. Who was only added to the tenant
 * enters it by choice: anyone can send a browser here. One that began by a connection enters no other tenant: the person signs in anew.
 */
async function enter(
  { calls, ctx, deps }: Asked,
  tenantId: string,
  { userId, connection }: Here,
): Promise<Here | Due> {
  if (connection !== null) return login('address')
  const scope = { tenantId, userId }
  if (await readInTenant(deps.db, scope, (read) => isOnlyAdded(read, scope)))
    return { prompt: 'select_account', page: 'organisation' }
  try {
    await calls.switchTenant(ctx, { tenant_id: tenantId })
    return ((await calls.whoIsHere(ctx)) as Here | null) ?? login('')
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status === 401) return login(error.code === 'otp_required' ? 'code' : 'address')
    if (error.status === 403) return { prompt: 'denied', page: 'denied', details: whyOf(error) }
    throw error
  }
}

/** What the policies still ask of the person. The last decision uses up the approval that it needs. */
async function accessDue(
  { access, ctx, deps }: Asked,
  { userId }: Here,
  { scopes, isLast }: { scopes: readonly string[]; isLast: boolean },
): Promise<AccessDue | null> {
  const asks = (ctx.oidc.result as RequestResult | undefined)?.asks === userId
  const { params } = ctx.oidc
  const asked = accessOf(ctx.oidc.client, {
    redirectHost: redirectHost(params?.redirect_uri),
    resources: [params?.resource ?? []].flat().map(String),
    scopes,
  })
  const due = await decideAccess(access, ctx as never, asked, { asks, isLast })
  const decisionId = due?.prompt === 'denied' ? due.details.decisionId : undefined
  if (decisionId) await recordDenial(deps, ctx, { userId, decisionId })
  return due
}

/**
 * Whether consent is due, was just given on the page, or is not needed. Anyone can claim a redirect URI that is not https, so
 * for those it is asked each time, and never kept.
 */
async function consentOf(
  { deps, ctx }: Asked,
  here: Here,
  scopes: readonly string[],
): Promise<'due' | 'given' | 'not needed'> {
  const client = ownClient(ctx)
  const isClaimable = !String(ctx.oidc.params?.redirect_uri).startsWith('https://')
  const { consent } = (ctx.oidc.result ?? {}) as RequestResult
  const shownFrom = Math.round((ctx.oidc.entities.Interaction?.iat ?? 0) * 1000)
  const isSame = client.consentsFrom <= shownFrom
  if (
    isSame &&
    consent?.userId === here.userId &&
    consent.sessionId === here.sessionId &&
    consent.tenantId === here.tenantId
  )
    return isClaimable ? 'not needed' : 'given'
  if (
    isClaimable ||
    String(ctx.oidc.params?.prompt ?? '')
      .split(' ')
      .includes('consent')
  )
    return 'due'
  if (client.firstParty) return 'not needed'
  return (await isConsented(deps, client, here.userId, scopes)) ? 'not needed' : 'due'
}
