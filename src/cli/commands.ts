import type { Command } from './command.ts'
import { adminCreate } from './commands/admin-create.ts'
import { deadLetters } from './commands/dead-letters.ts'
import { deadLettersPurge } from './commands/dead-letters-purge.ts'
import { deadLettersReplay } from './commands/dead-letters-replay.ts'
import { doctor } from './commands/doctor.ts'
import { eventsReplay } from './commands/events-replay.ts'
import { keysList } from './commands/keys-list.ts'
import { keysReseal } from './commands/keys-reseal.ts'
import { keysRevoke } from './commands/keys-revoke.ts'
import { keysRotate } from './commands/keys-rotate.ts'
import { mailsDiscard } from './commands/mails-discard.ts'
import { mailsRetry } from './commands/mails-retry.ts'
import { migrate } from './commands/migrate.ts'
import { passwordsBuild } from './commands/passwords-build.ts'
import { policiesBuild, policiesCheck } from './commands/policies.ts'
import { reset } from './commands/reset.ts'
import { seed } from './commands/seed.ts'
import { sessionsEndAll } from './commands/sessions-end-all.ts'
import { settings } from './commands/settings.ts'
import { tenantsList } from './commands/tenants-list.ts'
import { usersActivate, usersDeactivate } from './commands/users-activity.ts'
import { usersErase } from './commands/users-erase.ts'
import { usersResetFactors } from './commands/users-reset-factors.ts'

/** Every command, in the order in which they are listed. */
export const commands: readonly Command[] = [
  migrate,
  doctor,
  adminCreate,
  usersDeactivate,
  usersActivate,
  usersResetFactors,
  usersErase,
  sessionsEndAll,
  tenantsList,
  mailsRetry,
  mailsDiscard,
  deadLetters,
  deadLettersReplay,
  deadLettersPurge,
  eventsReplay,
  keysList,
  keysRotate,
  keysRevoke,
  keysReseal,
  seed,
  reset,
  policiesBuild,
  policiesCheck,
  passwordsBuild,
  settings,
]
