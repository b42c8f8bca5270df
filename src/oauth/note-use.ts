import { writeAsSystem } from '../database/executor/batch.ts'
import type { Deps } from '../deps.ts'
import { type ClientUse, isNoted, recordUse } from './clients/store.ts'
import type { RequestUnit } from './request-unit.ts'

/** Notes when a client, and its secret with this hash, was used last: with what the request writes, if it collects that. */
export async function noteUse(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  unit: RequestUnit | null,
  use: ClientUse,
): Promise<void> {
  const known = [unit?.read?.client, unit?.client].find((client) => client?.id === use.client.id)
  if (known && isNoted(known, use, clock())) return
  if (unit) unit.use = use
  else
    await writeAsSystem(db, 'a request of an application names its tenant', (together) =>
      recordUse(together, use, clock()),
    )
}
