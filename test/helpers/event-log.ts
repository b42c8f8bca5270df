import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Test } from 'tap'
import type { Service } from './service.ts'

/** An event as it was written; `sequence` is the relay's. */
export interface LoggedEvent {
  type: string
  subject: string
  sequence: number
  data: Record<string, unknown>
  actor_id: string | null
  request_id: string
}

/** A superuser's connection to the service's database for the length of a test file: what no route shows yet. */
export async function openDatabase(t: Test, service: Pick<Service, 'databases'>): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: service.databases.superuser })
  await client.connect()
  t.teardown(() => client.end())
  return client
}

/** Every event of a tenant in order, once the relay has numbered all of them; throws after five minutes. */
export async function eventsOf(database: pg.Client, tenantId: string): Promise<LoggedEvent[]> {
  for (let tries = 0; tries < 12_000; tries++, await sleep(25)) {
    const { rows } = await database.query(
      'select type, subject, sequence::int, data, actor_id, request_id from events where tenant_id = $1 order by sequence, id',
      [tenantId],
    )
    if (rows.length > 0 && rows.every((row) => row.sequence !== null)) return rows
  }
  throw new Error(`The events of ${tenantId} were not numbered in time`)
}
