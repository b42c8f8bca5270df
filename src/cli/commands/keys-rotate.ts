import { defineCommand } from '../command.ts'
import { rotate } from '../keys.ts'
import { withDatabase } from '../with-database.ts'

export const keysRotate = defineCommand({
  name: 'keys:rotate',
  about: 'Add a signing key: running processes publish it within 60 s, and sign with it after 90 to 150 s',
  options: {},
  example: '',
  roles: ['system'],
  run: ({ config }) => withDatabase(config, ['system'], rotate),
})
