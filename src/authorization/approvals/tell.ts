import type { Deps } from '../../deps.ts'
import type { Tx } from '../../platform/db/transaction.ts'
import { sendMail } from '../../platform/mail/send-mail.ts'
import { type Approver, findTenantName } from './approver-store.ts'
import type { NewRequest } from './open-store.ts'
import { requestUrl } from './show-request.ts'
import type { RequestRow } from './store.ts'

type TellDeps = Pick<Deps, 'sealer' | 'publicUrl'>

/** Tells those who may approve that somebody waits for them. */
export async function tellApprovers(
  tx: Tx,
  deps: TellDeps,
  told: { request: NewRequest; approvers: readonly Approver[]; requestId: string },
): Promise<void> {
  const { request, approvers, requestId } = told
  const { tenantId, at, action } = request
  const tenantName = await findTenantName(tx, tenantId)
  const variables = {
    requester: request.requesterEmail,
    action,
    tenantName,
    link: requestUrl(deps, request.id),
    expiresAt: new Date(request.expiresAt).toISOString(),
  }
  for (const { email: to } of approvers)
    await sendMail(tx, deps.sealer, {
      tenantId,
      to,
      template: 'approval_requested',
      variables,
      requestId,
      at,
    })
}

/** Tells the requester what became of their request. */
export async function tellRequester(
  tx: Tx,
  deps: TellDeps,
  told: { request: RequestRow; tenantId: string; outcome: Outcome; requestId: string; at: number },
): Promise<void> {
  const { request, tenantId, outcome, requestId, at } = told
  const tenantName = await findTenantName(tx, tenantId)
  await sendMail(tx, deps.sealer, {
    tenantId,
    to: request.requester_email,
    template: 'approval_decided',
    variables: { outcome, action: request.action, tenantName, link: requestUrl(deps, request.id) },
    requestId,
    at,
  })
}

export type Outcome = 'approved' | 'rejected' | 'cancelled'
