import { z } from 'zod'
import { name } from './free-text.ts'
import { letter } from './letter.ts'
import { notice } from './template.ts'

const repeatIt =
  'Repeat exactly the same call with the id of the request in the header Approval-Request. It works once.'
/** What a mail to the requester says of the end of an approval request, and what to do next. */
const outcomes = {
  approved: { was: 'was approved', next: repeatIt },
  rejected: { was: 'was rejected', next: 'Nothing was changed.' },
  cancelled: { was: 'was cancelled', next: 'Nothing was changed.' },
  executed: { was: 'was approved and carried out', next: 'You do not need to repeat the call.' },
  failed: { was: 'was approved, but failed', next: 'Nothing was changed. The link shows why.' },
}
const doIt = 'Do it in the application before the approval expires. It works once.'

/** An approver has more to read than other people, but not without end: requesters can belong to many tenants. */
const perHour = 30

/** Mails about approval requests. */
export const approvalTemplates = {
  approval_requested: notice(
    {
      requester: z.string(),
      /** Who would act, where that is another one: a name of an application's own can be any text. */
      subject: name.optional(),
      action: z.string(),
      tenantName: name,
      link: z.url(),
      expiresAt: z.string(),
    },
    ({ requester, subject, action, tenantName, link, expiresAt }) =>
      letter('Your approval is requested', [
        'Hello,',
        `${requester} asks for an approval${subject ? ` for ${subject}` : ''} in “${tenantName}”: ${action}. You can approve or reject it here:`,
        { link },
        `The request expires at ${expiresAt}. Read it before you approve it.`,
      ]),
    perHour,
  ),
  approval_decided: notice(
    {
      kind: z.enum(['call', 'application']).default('call'),
      outcome: z.enum(['approved', 'rejected', 'cancelled', 'executed', 'failed']),
      action: z.string(),
      tenantName: name,
      link: z.url(),
    },
    ({ kind, outcome, action, tenantName, link }) =>
      letter(`Your request ${outcomes[outcome].was}`, [
        'Hello,',
        `Your request in “${tenantName}” (${action}) ${outcomes[outcome].was}:`,
        { link },
        kind === 'application' && outcome === 'approved' ? doIt : outcomes[outcome].next,
      ]),
    perHour,
  ),
}
