import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { removeEmbeddedPostgres } from '../../start/development/embedded-postgres.ts'
import { acquireInstanceLock } from '../../start/development/instance-lock.ts'
import { defineCommand, Refused } from '../command.ts'
import { assertConfirmed } from '../confirm.ts'
import { flag } from '../options.ts'

export const reset = defineCommand({
  name: 'reset',
  about: 'Delete the embedded database and everything else in DATA_DIR; asks unless --yes',
  options: { yes: flag('Do not ask') },
  example: '--yes',
  async run({ config, options }) {
    if (config.production) throw new Refused('production', 'reset is for development.')
    const { DATA_DIR } = config
    if (!options.yes) await assertConfirmed(`Delete everything in ${DATA_DIR}/?`)
    await emptyDataFolder(resolve(DATA_DIR))
    return { data: { data_dir: DATA_DIR }, text: `${DATA_DIR}/ is empty. npm start creates new data.` }
  },
})

/** Removes what development keeps in a data folder. Throws while a service uses it. */
async function emptyDataFolder(dataDir: string): Promise<void> {
  const lock = await acquireInstanceLock(dataDir)
  try {
    await removeEmbeddedPostgres({ dataDir })
    await rm(join(dataDir, 'development-secrets.json'), { force: true })
  } finally {
    await lock.release()
  }
}
