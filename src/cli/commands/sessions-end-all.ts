import { endAllSessions } from '../../identity/sessions/end-all-sessions.ts'
import { defineCommand, requestInfoOf } from '../command.ts'
import { assertConfirmed } from '../confirm.ts'
import { flag } from '../options.ts'
import { withPools } from '../with-database.ts'

const roles = ['system'] as const

export const sessionsEndAll = defineCommand({
  name: 'sessions:end-all',
  about:
    'End every session of everyone, and invalidate mailed links and codes, for example after restoring a backup; asks unless --yes',
  options: { yes: flag('Do not ask') },
  example: '--yes',
  roles,
  async run({ config, options: { yes } }) {
    if (!yes) await assertConfirmed('End every session? Everyone has to sign in again.')
    const ended = await withPools(config, roles, (db) =>
      endAllSessions({ db, clock: Date.now }, requestInfoOf('sessions:end-all')),
    )
    const { sessions, pendingSignIns, links, codes } = ended
    return {
      data: { sessions, pending_sign_ins: pendingSignIns, links, codes },
      text: `Ended: ${sessions} sessions, ${pendingSignIns} pending sign-ins. Invalidated: ${links} links, ${codes} codes.`,
    }
  },
})
