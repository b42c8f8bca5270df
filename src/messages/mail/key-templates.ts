import { z } from 'zod'
import { name } from './free-text.ts'
import { notice } from './template.ts'

/** Mails about API keys. */
export const keyTemplates = {
  api_key_created: notice({
    keyName: name,
    tenantName: name,
    firstName: name,
    ofAccount: z.boolean().default(false), // missing in mails that an earlier release queued
  }),
  api_key_leaked: notice({ keyName: name, tenantName: name, prefix: z.string(), holder: name }),
}
