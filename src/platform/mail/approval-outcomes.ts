const repeatIt =
  'Repeat exactly the same call with the id of the request in the header Approval-Request. It works once.'
/** What a mail to the requester says of the end of an approval request, and what to do next. */
export const approvalOutcomes = {
  approved: { was: 'was approved', next: repeatIt },
  rejected: { was: 'was rejected', next: 'Nothing was changed.' },
  cancelled: { was: 'was cancelled', next: 'Nothing was changed.' },
  executed: { was: 'was approved and carried out', next: 'You do not need to repeat the call.' },
  failed: { was: 'was approved, but failed', next: 'Nothing was changed. The link shows why.' },
}
