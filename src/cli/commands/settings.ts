import { settingRows, settingsTable } from '../../config.ts'
import { defineCommand } from '../command.ts'

export const settings = defineCommand({
  name: 'settings',
  about: 'Print every setting as the table of the README',
  options: {},
  example: '',
  run: async () => ({ data: { settings: settingRows() }, text: settingsTable() }),
})
