import { join } from 'node:path'
import type { Test } from 'tap'
import { callCli, settingsFor } from '../cli/run-cli.ts'
import type { Service } from '../helpers/service.ts'
import { look } from '../tenancy/staff.ts'

/** The commands of the operator. */
export function openOperator(t: Test, service: Service) {
  const env = settingsFor(service.databases)
  const cli = (...args: string[]) => callCli(args, { env })
  let files = 0
  return {
    cli,
    /** Applies a manifest of the application `logbook`. */
    apply(parts: object) {
      const name = `manifest${++files}.json`
      const text = JSON.stringify({ application: 'logbook', name: 'Logbook', ...parts })
      return cli('manifest:apply', '--json', '--file', join(t.testdir({ [name]: text }), name))
    },
    /** The clock of the operator is not that of the test: consents that the test gives would be too old. */
    keepConsents: () =>
      look(service, 'update manifest_clients set consents_from = to_timestamp(0) returning id'),
  }
}
