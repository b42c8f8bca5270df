import t from 'tap'
import { startService } from '../helpers/service.ts'
import { rows, settingsFor, tryRows } from './linking-table.ts'
import { startProvider } from './provider.ts'

// Whose account it is that a provider names. Every 23rd row meets each upstream and each account; all run at night.

const chosen = process.env.TEST_LONG === 'true' ? rows : rows.filter((_, n) => n % 23 === 0)
const provider = await startProvider(t)
const service = await startService(t, { workers: false, env: settingsFor(provider) })

t.test(
  `${chosen.length} of the ${rows.length} rows of the table, and the rows that each changes`,
  async (t) => {
    for await (const { row, seen, expected } of tryRows(service, provider, chosen))
      t.strictSame(seen, expected, JSON.stringify(row))
  },
)
