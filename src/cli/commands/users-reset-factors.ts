import { resetFactors } from '../../identity/otp/reset-factors.ts'
import { defineCommand, Refused } from '../command.ts'
import { assertConfirmed } from '../confirm.ts'
import { sealerOf } from '../keys.ts'
import { email, flag, id, Misuse, optional } from '../options.ts'
import { originOf } from '../request-info.ts'
import { withPools } from '../with-database.ts'

const roles = ['system'] as const

export const usersResetFactors = defineCommand({
  name: 'users:reset-factors',
  about:
    'Remove the second factors of a person who lost theirs: their sessions end, and they are told by mail',
  options: {
    email: optional('<address>', 'Who, by address', email),
    id: optional('<id>', 'Who, by id', id),
    yes: flag('Do not ask'),
  },
  example: '--email ada@example.com --yes',
  failure: 'it failed, or there is nobody of that address or id',
  roles,
  async run({ config, options: { email, id, yes } }) {
    const person = email === undefined ? id !== undefined && { id } : id === undefined && { email }
    if (!person) throw new Misuse('Name one person, by --email or by --id.')
    if (!yes)
      await assertConfirmed('Are you sure who asks for this? The password alone opens the account then.')
    const done = await withPools(config, roles, (db, complete) =>
      resetFactors(
        { db, clock: Date.now, sealer: sealerOf(complete) },
        originOf('users:reset-factors'),
        person,
      ),
    )
    if (!done) throw new Refused('not_found', 'There is nobody of that address or id.')
    const { user, removed, sessionsEnded } = done
    return {
      data: { user, removed, sessions_ended: sessionsEnded },
      text: `${user.email}: removed ${removed.join(', ') || 'nothing'}. Sessions ended: ${sessionsEnded}`,
    }
  },
})
