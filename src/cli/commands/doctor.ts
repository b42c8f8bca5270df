import { defineCommand } from '../command.ts'
import { examine, lineOf } from '../doctor.ts'
import { withDatabase } from '../with-database.ts'

const roles = ['api', 'system', 'worker'] as const

export const doctor = defineCommand({
  name: 'doctor',
  about:
    'Check the database, its isolation of tenants, migrations, clock and policies; exit 1 where something is off',
  options: {},
  example: '',
  failure: 'something is off: each line with a cross says what to do',
  roles,
  run: ({ config }) =>
    withDatabase(config, roles, async (complete) => {
      const { ok, findings } = await examine(complete)
      return { exit: ok ? 0 : 1, data: { ok, findings }, text: findings.map(lineOf).join('\n') }
    }),
})
