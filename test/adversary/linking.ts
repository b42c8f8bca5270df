import { rows, settingsFor, tryRows } from '../federation/linking-table.ts'
import { startProvider } from '../federation/provider.ts'
import type { Attack } from './attack.ts'

export const linking: Attack = {
  name: 'linking',
  about: 'whose account a provider names, and the rows that change',
  async run(stage, tally) {
    const ends: (() => unknown)[] = []
    const provider = await startProvider({ teardown: (end) => void ends.push(end as () => unknown) })
    const service = await stage.fresh({ workers: false, env: settingsFor(provider) })
    const every = stage.pick(5, 3, 1)
    const chosen = rows.filter((_, n) => n % every === 0)
    for await (const { row, seen, expected } of tryRows(service, provider, chosen)) {
      const [is, due] = [JSON.stringify(seen), JSON.stringify(expected)]
      tally.count(JSON.stringify(row), is === due ? null : `${is}, not ${due}`)
    }
    for (const end of ends) await end()
  },
}
