import { asWorker } from '../../platform/db/transaction.ts'
import { discardUnsent } from '../../platform/mail/mail-store.ts'
import { defineCommand } from '../command.ts'
import { assertConfirmed } from '../confirm.ts'
import { flag } from '../options.ts'
import { withPools } from '../with-database.ts'

const roles = ['worker'] as const
const batch = 500

export const mailsDiscard = defineCommand({
  name: 'mails:discard',
  about: 'Delete every mail that waits to be sent, as after restoring a backup; asks unless --yes',
  options: { yes: flag('Do not ask') },
  example: '--yes',
  roles,
  async run({ config, options: { yes } }) {
    if (!yes) await assertConfirmed('Delete every mail that waits to be sent?')
    const discarded = await withPools(config, roles, async (db) => {
      let count = 0
      for (let gone = batch; gone === batch; count += gone)
        gone = await asWorker(db, (tx) => discardUnsent(tx, batch))
      return count
    })
    return { data: { discarded }, text: `Discarded: ${discarded}` }
  },
})
