import type { Tx } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { RequestInfo } from '../../http/request-info.ts'
import { notifyMembers } from '../../identity/users/notify-people.ts'
import { requestUrl } from './show-request.ts'
import type { RequestRow } from './store.ts'
import { type Approver, findTenantName, type NewRequest } from './transition-store.ts'

type NotifyDeps = Pick<Deps, 'sealer' | 'publicUrl' | 'config'>

/** Where a person reads a request: a page of the application, or of the console; where the console is off, the API. */
function linkTo(deps: NotifyDeps, tenantId: string, id: string): string {
  const { EMAIL_LINK_APPROVAL: own, CONSOLE_ENABLED: hasConsole } = deps.config
  if (own !== undefined) return own.replaceAll('{id}', id).replaceAll('{tenant_id}', tenantId)
  return hasConsole
    ? `${deps.publicUrl()}/console/approvals/${id}?organisation=${tenantId}`
    : requestUrl(deps, id)
}

/** Mails the approvers that a request waits for them. */
export async function notifyApprovers(
  tx: Tx,
  deps: NotifyDeps,
  {
    request,
    requester,
    object,
    approvers,
    requestInfo,
  }: {
    request: NewRequest
    requester: string
    object: string | undefined
    approvers: readonly Approver[]
    requestInfo: Pick<RequestInfo, 'requestId' | 'languages'>
  },
): Promise<void> {
  const { tenantId, at, action, subject, requesterId } = request
  const tenantName = await findTenantName(tx, tenantId)
  const variables = {
    requester,
    ...(subject.accountId !== requesterId && { subject: subject.email ?? subject.id }),
    action,
    ...(object && { object }),
    tenantName,
    link: linkTo(deps, tenantId, request.id),
    expiresAt: request.expiresAt,
  }
  const ids = approvers.map(({ id }) => id)
  await notifyMembers(tx, deps.sealer, ids, {
    tenantId,
    template: 'approval_requested',
    variables,
    requestInfo,
    at,
  })
}

/**
 * Mails who asked, and who would act, the outcome of their request; not the person who brought it about. A service
 * account has no address: it reads the request.
 */
export async function notifyParties(
  tx: Tx,
  deps: NotifyDeps,
  {
    request,
    tenantId,
    outcome,
    requestInfo,
    at,
    except,
  }: {
    request: Pick<RequestRow, 'id' | 'kind' | 'requester_id' | 'account_id' | 'action'>
    tenantId: string
    outcome: Outcome
    requestInfo: Pick<RequestInfo, 'requestId' | 'languages'>
    at: number
    except?: string
  },
): Promise<void> {
  const { id, kind, action, requester_id: requesterId, account_id: accountId } = request
  const parties = new Set([requesterId, accountId ?? requesterId])
  if (except) parties.delete(except)
  if (parties.size === 0) return
  const tenantName = await findTenantName(tx, tenantId)
  // What a person asked for on the pages of the sign-in, no program repeats.
  const told = action === 'oauth:authorize' ? 'application' : kind
  const variables = { kind: told, outcome, action, tenantName, link: linkTo(deps, tenantId, id) }
  await notifyMembers(tx, deps.sealer, [...parties], {
    tenantId,
    template: 'approval_decided',
    variables,
    requestInfo,
    at,
  })
}

/** `executed` and `failed`: of a stored call. */
export type Outcome = 'approved' | 'rejected' | 'cancelled' | 'executed' | 'failed'
