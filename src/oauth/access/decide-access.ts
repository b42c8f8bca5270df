import type { Context } from 'koa'
import { z } from 'zod'
import type { Tx } from '../../database/executor/transaction.ts'
import { ApiError } from '../../errors.ts'
import { appendAudit, doneBy } from '../../messages/audit/append-audit.ts'
import type { Calls, PageDeps } from '../../pages/sign-in/calls.ts'
import type { Caller } from '../../request/caller.ts'
import type { OpenRequest, RejectedRequest } from '../../request/change/approvals.ts'
import type { RouteCall } from '../../request/request-path.ts'
import { route } from '../../request/route.ts'
import { ownOf } from '../client-metadata.ts'
import { readClientId } from '../clients/client-id.ts'
import type { OidcContext } from '../provider-types.ts'

// Policies decide who may use which application (`oauth:authorize`), as they decide calls of the API: in the log of
// decisions, with explanations, and with requests for approval.

/** What a person asks for when they sign in to an application. An approval is for exactly this. */
const access = z.object({
  client_id: z.string(),
  name: z.string(),
  kind: z.string(),
  first_party: z.boolean(),
  redirect_host: z.string(),
  resources: z.array(z.string()),
  scopes: z.array(z.string()),
})

export type Access = z.output<typeof access>

/** What a request asks for, or a grant gives. */
export function accessOf(
  client: OidcContext['oidc']['client'],
  {
    redirectHost,
    resources = [],
    scopes,
  }: { redirectHost: string; resources?: string[]; scopes: readonly string[] },
): Access {
  const { kind, firstParty } = ownOf(client)
  return {
    client_id: client!.clientId,
    name: client!.clientName ?? '',
    kind,
    first_party: firstParty,
    redirect_host: redirectHost,
    resources,
    scopes: [...scopes].sort(),
  }
}

/** An application as policies see it while a person signs in to it. It has no owner. */
export const accessResource = ({ client_id: id, resources: _, ...fields }: Access) => ({
  type: 'oauth_client',
  id,
  fields: { id, ...fields },
})

/** The calls that decide. They have no address: the authorization endpoint makes them, in the session of the browser. */
export interface AccessCalls {
  /** Decides, and asks for an approval that is needed. */
  decide: RouteCall
  /** The same, and records that the person is let in. It uses up the approval that it names. */
  enter: RouteCall
}

export function accessCalls({ clock }: PageDeps, calls: Calls): AccessCalls {
  const calling = (act: (tx: Tx, input: { caller: Caller; body: Access }) => Promise<void>) =>
    calls.of(
      route({
        method: 'POST',
        path: '/oauth/authorize',
        action: 'oauth:authorize',
        tag: 'Applications',
        summary: 'Sign in to an application',
        body: access,
        status: 204,
        answer: null,
        load: async (_tx, { body }) => body,
        resource: accessResource,
        // Full logs keep no one out of an application.
        takesAway: () => true,
        act,
      }),
    )
  return {
    decide: calling(async () => undefined),
    enter: calling(async (tx, { caller, body }) => {
      const target = { type: 'oauth_client', id: readClientId(body.client_id)!.id }
      await appendAudit(tx, { ...doneBy(caller, clock()), action: 'oauth:authorize', target })
    }),
  }
}

/** Why a person is not let in, as the page says it. */
export const whyStopped = z.object({
  code: z.string(),
  message: z.string(),
  decisionId: z.string().optional(),
  /** The request for an approval that waits. */
  request: z.object({ id: z.string(), expiresAt: z.number() }).optional(),
  /** When the last one was rejected, in ms since 1970. */
  rejectedAt: z.number().optional(),
})

type WhyStopped = z.output<typeof whyStopped>

/** What the policies still ask of the person, or that they deny. */
export type AccessDue =
  | { prompt: 'login'; page: string }
  | { prompt: 'approval' | 'denied'; page: string; details: WhyStopped }

/**
 * Decides by the policies of the tenant; null: the person may use the application. `asks`: they ask for an approval, if one is
 * needed. `isLast`: nothing else is due, so they are let in.
 */
export async function decideAccess(
  { decide, enter }: AccessCalls,
  http: Context,
  asked: Access,
  { asks, isLast }: { asks: boolean; isLast: boolean },
): Promise<AccessDue | null> {
  const call = isLast ? enter : decide
  const refused = await call(http, asked, {}, { asksApproval: asks }).then(() => null, refusalOf)
  const request = refused && requestIn(refused)
  if (request?.status !== 'approved') return refused && dueOf(refused)
  if (!isLast) return null
  const again = { approvalId: request.id, asksApproval: false }
  return enter(http, asked, {}, again).then(
    () => null,
    (error) => dueOf(refusalOf(error)),
  )
}

function refusalOf(thrown: unknown): ApiError {
  if (thrown instanceof ApiError && (thrown.status === 401 || thrown.status === 403)) return thrown
  throw thrown
}

const requestIn = ({ members }: ApiError) =>
  members.approval_request as OpenRequest | RejectedRequest | undefined

function dueOf(refused: ApiError): AccessDue {
  const { code, status } = refused
  if (status === 401)
    return { prompt: 'login', page: code === 'insufficient_user_authentication' ? 'step-up' : '' }
  const details = whyOf(refused)
  return /^approval_/.test(code)
    ? { prompt: 'approval', page: 'access', details }
    : { prompt: 'denied', page: 'denied', details }
}

/** Why a call was refused, by the first reason of the decision. */
export function whyOf(refused: ApiError): WhyStopped {
  const { code, message, members } = refused
  const [first] = (members.reasons ?? []) as { code: string }[]
  const request = requestIn(refused)
  return {
    code: first?.code ?? code,
    message,
    ...(members.decision_id !== undefined && { decisionId: String(members.decision_id) }),
    ...(request?.status === 'rejected'
      ? { rejectedAt: Date.parse(request.decided_at) }
      : request && { request: { id: request.id, expiresAt: Date.parse(request.expires_at) } }),
  }
}
