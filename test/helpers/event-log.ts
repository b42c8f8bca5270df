import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Test } from 'tap'
import type { Service } from './service.ts'

/** An event as it was written. The relay sets `sequence`. */
export interface LoggedEvent {
  type: string
  subject: string
  sequence: number
  data: Record<string, unknown>
  actor_id: string | null
  request_id: string
}

/** A superuser's connection to the service's database for the duration of a test file, to read what no route shows. */
export async function openDatabase(t: Test, service: Pick<Service, 'databases'>): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: service.databases.superuser })
  await client.connect()
  t.teardown(() => client.end())
  return client
}

/** The events of a tenant in the order in which they were written. The relay need not run: `sequence` can be null. */
export async function eventsOf(database: pg.Client, tenantId: string): Promise<LoggedEvent[]> {
  const { rows } = await database.query(
    'select type, subject, sequence::int, data, actor_id, request_id from events where tenant_id = $1 order by id',
    [tenantId],
  )
  return rows
}

/** Waits until the relay has numbered all events of a tenant, and gives them in order. Throws after five minutes. */
export async function numberedEventsOf(database: pg.Client, tenantId: string): Promise<LoggedEvent[]> {
  for (let tries = 0; tries < 12_000; tries++, await sleep(25)) {
    const events = await eventsOf(database, tenantId)
    if (events.length > 0 && events.every(({ sequence }) => sequence !== null)) return events
  }
  throw new Error(`The events of ${tenantId} were not numbered in time`)
}
