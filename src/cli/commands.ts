import type { Command } from './command.ts'
import { adminCreate } from './commands/admin-create.ts'
import { appRevoke, appToken, appTokens } from './commands/app-tokens.ts'
import { deadLetters, deadLettersPurge, deadLettersReplay } from './commands/dead-letters.ts'
import { decisionsShow } from './commands/decisions.ts'
import { distribute } from './commands/distribute.ts'
import { doctor } from './commands/doctor.ts'
import { eventsReplay } from './commands/events-replay.ts'
import { keysList, keysReseal, keysRevoke, keysRotate } from './commands/keys.ts'
import { mailsDiscard, mailsRetry } from './commands/mails.ts'
import { clientSecret, manifestRotateSecret } from './commands/manifest-secrets.ts'
import { manifestApply, manifestDiff, manifestList } from './commands/manifests.ts'
import { migrate } from './commands/migrate.ts'
import { passwordsBuild } from './commands/passwords-build.ts'
import { adminPassword, mailsList, usersFind, usersShow } from './commands/people.ts'
import { policiesBuild, policiesCheck } from './commands/policies.ts'
import { reset } from './commands/reset.ts'
import { seed } from './commands/seed.ts'
import { sessionsEndAll } from './commands/sessions-end-all.ts'
import { settings } from './commands/settings.ts'
import { tenantsList } from './commands/tenants-list.ts'
import { usersActivate, usersDeactivate, usersErase, usersResetFactors } from './commands/users.ts'
import { usersImport } from './commands/users-import.ts'

/** Every command, in the order of the list that --help prints. */
export const commands: readonly Command[] = [
  migrate,
  distribute,
  doctor,
  adminCreate,
  adminPassword,
  usersFind,
  usersShow,
  usersDeactivate,
  usersActivate,
  usersResetFactors,
  usersErase,
  usersImport,
  sessionsEndAll,
  tenantsList,
  decisionsShow,
  manifestDiff,
  manifestApply,
  manifestList,
  manifestRotateSecret,
  clientSecret,
  appToken,
  appTokens,
  appRevoke,
  mailsList,
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
