import { emptyDataDir } from '../../development/empty-data-folder.ts'
import { defineCommand, Refused } from '../command.ts'
import { assertConfirmed } from '../confirm.ts'
import { flag } from '../options.ts'

export const reset = defineCommand({
  name: 'reset',
  about: 'Drop the embedded database and everything else in DATA_DIR; asks unless --yes',
  options: { yes: flag('Do not ask') },
  example: '--yes',
  async run({ config, options }) {
    if (config.production) throw new Refused('production', 'reset is for development.')
    const { DATA_DIR } = config
    if (!options.yes) await assertConfirmed(`Drop everything in ${DATA_DIR}/?`)
    await emptyDataDir(DATA_DIR)
    return { data: { data_dir: DATA_DIR }, text: `${DATA_DIR}/ is empty. npm start begins anew.` }
  },
})
