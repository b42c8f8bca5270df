import { type Caller, subjectOf } from './caller.ts'
import type { Client } from './client.ts'
import { bearer } from './credentials.ts'
import type { AccessDecision, Question } from './decide.ts'
import { isKeyLike, keyReader } from './key-holders.ts'
import {
  notAuthenticated,
  type Refusal,
  refusalOf,
  refusalOfDecision,
  refusalOfError,
  unavailable,
} from './refusal.ts'
import { serviceCheck } from './service-check.ts'
import { TokenNotValid, type VerifyToken } from './verify-token.ts'

/** What a request of your application does to which object: `{ action: 'note:read', resource: { type: 'note', id } }`. */
export interface Access {
  action: string
  resource: Question['resource']
  /** Attributes of the environment that policies read. */
  context?: Question['context']
  /** Your handler uses the approval that `decision.approval_request` names, once and before it acts. */
  usesApproval?: boolean
}

type MaybeAccess = Access | null | undefined
/** Names the access of a request; nothing where nothing has to be decided. */
export type AccessOf = (caller: Caller) => MaybeAccess | Promise<MaybeAccess>

/** A request that is let in. `decision` is null where no access was named. */
export interface LetIn {
  caller: Caller
  decision: AccessDecision | null
}

type Judge = (
  authorization: string | null | undefined,
  accessOf?: AccessOf,
) => Promise<LetIn | { refusal: Refusal }>

/**
 * Judges a request by its `Authorization` header: the token or key must be valid and, where `accessOf` names an access,
 * the service must allow it to its holder now. Refuses when it cannot tell.
 */
export interface Guard extends Judge {
  /**
   * Asks the service whether it issues the tokens that `verify` expects; throws if it does not, and names both. Await it
   * when your application starts: requests before are refused with 503.
   */
  ready(): Promise<void>
}

export interface GuardOptions {
  client: Client
  /** Verifies access tokens; see `tokenVerifier`. */
  verify: VerifyToken
  /** ms for a decision, and for whose a key is; 1,000 if absent. */
  deadlineMs?: number
  /** Types of obligations that your application carries out, by the `decision` of a request. Any other one refuses. */
  obligations?: readonly string[]
  /** Takes tokens of members who act as another one. */
  allowImpersonation?: boolean
  /** Takes keys that can be used at the service itself: those without scopes, and with scopes of its own actions. */
  allowFullKeys?: boolean
  /** Is told each refusal with its cause, for your log. */
  onRefusal?(refusal: Refusal, about: { caller?: Caller; access?: Access; cause?: unknown }): void
}

/** Makes a guard, for one of the middlewares. */
export function createGuard(options: GuardOptions): Guard {
  const { client, verify, deadlineMs = 1_000, obligations = [], onRefusal } = options
  const { allowImpersonation = false, allowFullKeys = false } = options
  const service = serviceCheck(client, verify)
  const readKey = keyReader(client, deadlineMs)

  const callerOf = async (
    token: string,
  ): Promise<{ caller: Caller } | { refusal: Refusal; cause?: unknown }> => {
    try {
      if (!isKeyLike(token)) {
        const caller = { ...(await verify(token)), kind: 'user' as const }
        return caller.act && !allowImpersonation ? { refusal: impersonated } : { caller }
      }
      const { caller, isFull } = await readKey(token)
      return isFull && !allowFullKeys ? { refusal: fullKey } : { caller }
    } catch (cause) {
      return { refusal: cause instanceof TokenNotValid ? notValid(cause) : refusalOfError(cause), cause }
    }
  }

  const judge: Judge = async (authorization, accessOf) => {
    const refuse = (refusal: Refusal, about: Parameters<NonNullable<GuardOptions['onRefusal']>>[1]) => {
      onRefusal?.(refusal, about)
      return { refusal }
    }
    const fault = service.fault()
    if (fault) return refuse(notReady, { cause: fault })
    const [, token] = /^bearer +([\w.~+/=-]+)$/i.exec(authorization?.trim() ?? '') ?? []
    if (!token) return refuse(noToken, {})
    const known = await callerOf(token)
    if ('refusal' in known) return refuse(known.refusal, { cause: known.cause })

    const { caller } = known
    const access = await accessOf?.(caller)
    if (!access) return { caller, decision: null }
    const { action, resource, context } = access
    const question = {
      subject: subjectOf(caller),
      action: { name: action },
      resource,
      ...(context && { context }),
    }
    // With the token or key of the caller: the service notices what has ended, and answers about no one else.
    const decision = await client.as(bearer(token)).decide(question, { deadlineMs, obligations })
    if (decision.allowed || (access.usesApproval && isApproved(decision))) return { caller, decision }
    return refuse(refusalOfDecision(decision), { caller, access, cause: decision.error })
  }
  return Object.assign(judge, { ready: service.ready })
}

/** Whether only the use of an approval is left to do. */
const isApproved = ({ effect, unmet, approval_request }: AccessDecision) =>
  effect === 'allow' && unmet.length === 0 && approval_request !== null

const noToken = notAuthenticated(
  'not_authenticated',
  'Send an access token or an API key: Authorization: Bearer <token>.',
)
const notReady = unavailable('This application cannot check who you are yet. Try again.')

const notValid = ({ message, isExpired }: TokenNotValid): Refusal =>
  notAuthenticated(
    'not_authenticated',
    message,
    `error="invalid_token"${isExpired ? `, error_description="${message}"` : ''}`,
    isExpired ? { reason: 'expired' } : {},
  )

const impersonated = refusalOf(
  403,
  'impersonation_not_allowed',
  'This application does not accept the token of a member who acts as another one.',
)
const fullKey = refusalOf(
  403,
  'key_not_allowed',
  'This application takes only keys with scopes for applications: an application that gets this key could also act at the identity service with it.',
)
