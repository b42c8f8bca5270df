import type { Test } from 'tap'
import { type Service, startService } from './service.ts'

type End = () => unknown
type TestProcess = { ends: End[] }

const halfDay = 43_200_000
const shared = new Map<boolean, { service: Service; since: number; end(): Promise<void> }>()

/**
 * A service that the files of one process share, with default settings. Use it in a file that looks at nothing but its
 * own people and tenants, and leaves settings and dependencies alone. The clock goes on where the last file left it;
 * after half a day the next file gets a new service.
 */
export async function sharedService(t: Test, { workers = true } = {}): Promise<Service> {
  const found = shared.get(workers)
  if (found && found.service.now() - found.since < halfDay) return found.service
  await found?.end()
  const teardowns: End[] = []
  const service = await startService({ teardown: (end: End) => void teardowns.push(end) }, { workers })
  const end = async () => {
    if (shared.get(workers)?.service !== service) return
    shared.delete(workers)
    for (const teardown of teardowns.reverse()) await teardown()
  }
  shared.set(workers, { service, since: service.now(), end })
  atProcessEnd(t, end)
  return service
}

/** Ends the shared services, before a file that counts what the whole process sends. Later files start new ones. */
export const endSharedServices = () => Promise.all([...shared.values()].map(({ end }) => end()))

/** Calls `end` after the last file of this process. */
export function atProcessEnd(t: Pick<Test, 'teardown'>, end: () => Promise<void>): void {
  const tests = Reflect.get(globalThis, Symbol.for('bailiwick.tests')) as TestProcess | undefined
  if (tests) tests.ends.push(end)
  else t.teardown(end) // the file is run on its own
}
