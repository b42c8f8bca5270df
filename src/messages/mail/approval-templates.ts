import { z } from 'zod'
import { name } from './free-text.ts'
import { moment, notice } from './template.ts'

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
      /** What the action is done to; it can be any text. */
      object: name.optional(),
      tenantName: name,
      link: z.url(),
      expiresAt: moment,
    },
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
    perHour,
  ),
}
