import type { ApprovalQuestion, ApprovalRequest } from './api-types.ts'
import type { AnyInput } from './operations.ts'

/** Approvals of actions of your application, which its policies require. */
export interface Approvals {
  /** Asks for an approval, and gives the request; the open one if it asks the same. */
  request(question: ApprovalQuestion): Promise<ApprovalRequest>
  /**
   * Uses an approved request for one operation of yours; act after it. Repeat it with the same `operationId` when you do
   * not know whether it had an effect. Throws `Problem` with `invalid_state` for another operation, and with
   * `approval_invalid` or `permission_denied` if the question is no longer what was approved, or is denied by now.
   */
  consume(id: string, operationId: string): Promise<ApprovalRequest>
}

type Call = (operation: string, input: AnyInput) => Promise<unknown>

export const approvalsBy = (call: Call): Approvals => ({
  request: (question) => call('POST /approval-requests/', { body: question }) as Promise<ApprovalRequest>,
  consume: (id, operationId) =>
    call('POST /approval-requests/{id}/consume/', {
      path: { id },
      body: { operation_id: operationId },
    }) as Promise<ApprovalRequest>,
})
