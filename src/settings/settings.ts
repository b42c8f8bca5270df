import { connectionSettings, tracingSettings } from './connections.ts'
import type { Setting } from './forms.ts'
import { quotas, rateLimits, retention } from './limits.ts'
import { operatorSettings } from './operator.ts'
import { linkSettings, signInSettings, tokenSettings } from './sign-in.ts'

/** Every setting of the service in its group, in the order of docs/reference/settings.md. */
export const settingGroups = {
  'What an operator sets': operatorSettings,
  'Processes and connections': connectionSettings,
  'Keys and tokens': tokenSettings,
  'Sign-in': signInSettings,
  'Links in mails': linkSettings,
  'Rate limits': rateLimits,
  Quotas: quotas,
  Retention: retention,
  Traces: tracingSettings,
} satisfies Record<string, Record<string, Setting<unknown>>>

/** Every setting of the service. */
export const settings = {
  ...operatorSettings,
  ...connectionSettings,
  ...tokenSettings,
  ...signInSettings,
  ...linkSettings,
  ...rateLimits,
  ...quotas,
  ...retention,
  ...tracingSettings,
}
