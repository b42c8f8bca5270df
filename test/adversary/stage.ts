import { type Service, startService } from '../helpers/service.ts'
import type { Size, Stage } from './attack.ts'

type End = () => unknown

/** A stage, and the function that ends its services. Attacks of one stage share a cluster: TEST_DATABASE_URL, or one of its own. */
export function openStage(size: Size): { stage: Stage; close(): Promise<void> } {
  const ends: End[] = []
  const teardown = (end: End) => void ends.push(end)
  let shared: Promise<Service> | undefined
  const stage: Stage = {
    size,
    pick: (ci, quick, whole) => ({ ci, quick, whole })[size],
    shared() {
      shared ??= startService({ teardown } as never, {})
      return shared
    },
    fresh: (options = {}) => startService({ teardown } as never, options),
  }
  const close = async () => {
    for (const end of ends.reverse()) await end()
  }
  return { stage, close }
}
