import type { Deps } from '../../deps.ts'
import { notifyPeople, notifyPerson } from '../../identity/users/notify-people.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { requestUrl } from './show-request.ts'
import type { NewRequest, RequestRow } from './store.ts'
import { type Approver, findTenantName } from './transition-store.ts'

type NotifyDeps = Pick<Deps, 'sealer' | 'publicUrl' | 'config'>

/** Where a person reads a request: its page in the console; where the console is off, the API. */
const linkTo = (deps: NotifyDeps, tenantId: string, id: string): string =>
  deps.config.CONSOLE_ENABLED
    ? `${deps.publicUrl()}/console/approvals/${id}?organisation=${tenantId}`
    : requestUrl(deps, id)

/** Mails the approvers that a request waits for them. */
export async function notifyApprovers(
  tx: Tx,
  deps: NotifyDeps,
  {
    request,
    requester,
    approvers,
    requestId,
  }: { request: NewRequest; requester: string; approvers: readonly Approver[]; requestId: string },
): Promise<void> {
  const { tenantId, at, action } = request
  const tenantName = await findTenantName(tx, tenantId)
  const variables = {
    requester,
    action,
    tenantName,
    link: linkTo(deps, tenantId, request.id),
    expiresAt: new Date(request.expiresAt).toISOString(),
  }
  const ids = approvers.map(({ id }) => id)
  await notifyPeople(tx, deps.sealer, ids, {
    tenantId,
    template: 'approval_requested',
    variables,
    requestId,
    at,
  })
}

/** Mails the requester the outcome of their request. A service account has no address: it reads the request. */
export async function notifyRequester(
  tx: Tx,
  deps: NotifyDeps,
  {
    request,
    tenantId,
    outcome,
    requestId,
    at,
  }: {
    request: Pick<RequestRow, 'id' | 'requester_id' | 'action'>
    tenantId: string
    outcome: Outcome
    requestId: string
    at: number
  },
): Promise<void> {
  const tenantName = await findTenantName(tx, tenantId)
  await notifyPerson(tx, deps.sealer, request.requester_id, {
    tenantId,
    template: 'approval_decided',
    variables: { outcome, action: request.action, tenantName, link: linkTo(deps, tenantId, request.id) },
    requestId,
    at,
  })
}

/** `executed` and `failed`: of a stored call. */
export type Outcome = 'approved' | 'rejected' | 'cancelled' | 'executed' | 'failed'
