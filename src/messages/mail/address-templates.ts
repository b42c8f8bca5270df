import { z } from 'zod'
import { name } from './free-text.ts'
import { notice, template } from './template.ts'

/** Mails about the address of an account: its first proof, its change, and the end of a change. */
export const addressTemplates = {
  account_cleared: notice({
    firstName: name,
    hasPassword: z.boolean(),
    // Missing in mails that an earlier release queued.
    byOperator: z.boolean().optional(),
    tenants: z.array(name),
    others: z.int(),
  }),
  // Queued by earlier releases: now this is `account_cleared`.
  password_cleared: notice({ firstName: name }),
  email_changed: template(['address-change'], {
    firstName: name,
    newEmail: z.string(),
    undo: z.url().optional(),
  }),
  email_change_rejected: notice({ firstName: name, email: z.string() }),
  email_change_undone: notice({
    firstName: name,
    email: z.string(),
    // Missing in mails that an earlier release queued.
    newEmail: z.string().default(''),
    tenants: z.array(z.object({ name, slug: z.string() })).default([]),
  }),
}
