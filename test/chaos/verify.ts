import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Journal } from './load.ts'
import type { Stage } from './stage.ts'

/**
 * What a run found. `mails` and `deliveries` are those that arrived; everything else has to be 0, except for mails and
 * deliveries that arrived twice.
 */
export interface Found {
  mails: number
  deliveries: number
  writes_lost: number
  effects_twice: number
  events_lost: number
  events_twice: number
  audit_rows_lost: number
  sequences_with_gaps: number
  deliveries_lost: number
  deliveries_out_of_order: number
  deliveries_twice: number
  mails_lost: number
  mails_twice: number
  left_in_the_outbox: number
}

/** Waits until the workers have nothing left to do, at most `limitMs`. Deliveries that failed wait up to 5 min. */
export async function settle({ config }: Stage, limitMs: number): Promise<void> {
  await withDatabase(config.DATABASE_WORKER_URL!, async (count) => {
    const end = performance.now() + limitMs
    while (performance.now() < end) {
      const left = await count(
        "select (select count(*) from outbox) + (select count(*) from webhook_deliveries where status = 'pending') as n",
      )
      if (left === 0) return
      await sleep(500)
    }
  })
}

type Count = (text: string, values?: unknown[]) => Promise<number>

async function withDatabase<T>(
  url: string,
  work: (count: Count, client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(async (text, values) => Number((await client.query(text, values)).rows[0].n), client)
  } finally {
    await client.end()
  }
}

/** Compares what was acknowledged with the database, the receiver and the mail server. As a superuser. */
export function verify(stage: Stage, journal: Journal, superuserUrl: string): Promise<Found> {
  return withDatabase(superuserUrl, async (count, client) => {
    const ids = journal.roles.map(({ id }) => id)
    const perRole = async (text: string) =>
      (await client.query<{ id: string; n: string }>(text, [ids])).rows.map(({ n }) => Number(n))
    const events = await perRole(
      `select r.id, (select count(*) from events e where e.subject::text = r.id::text and e.type = 'tenant.role_created') as n
       from unnest($1::uuid[]) as r (id)`,
    )
    const audited = await perRole(
      `select r.id, (select count(*) from audit_log a where a.target_id::text = r.id::text and a.action = 'role:create') as n
       from unnest($1::uuid[]) as r (id)`,
    )
    const kept = await count('select count(*) as n from roles where id = any($1::uuid[])', [ids])
    const people = await count('select count(*) as n from users where email = any($1)', [journal.registered])
    const mails = tally(stage.mail.taken)
    const mailed = new Set(stage.mail.taken.map((mail) => mail.split(' ')[0]))
    const delivered = await deliveries(stage, client)
    return {
      writes_lost: ids.length - kept + journal.registered.length - people,
      effects_twice: await count(
        'select count(*) as n from (select from roles group by tenant_id, name having count(*) > 1) twice',
      ),
      events_lost: events.filter((n) => n === 0).length,
      events_twice: events.filter((n) => n > 1).length,
      audit_rows_lost: audited.filter((n) => n !== 1).length,
      sequences_with_gaps: await count(
        `select count(*) as n from (
           select from events group by tenant_id having max(sequence) <> count(*)) gaps`,
      ),
      ...delivered,
      mails: stage.mail.taken.length,
      mails_lost: journal.registered.filter((email) => !mailed.has(email)).length,
      mails_twice: [...mails.values()].reduce((sum, n) => sum + n - 1, 0),
      left_in_the_outbox: await count('select count(*) as n from outbox'),
    }
  })
}

async function deliveries({ receiver }: Stage, client: pg.Client) {
  const { rows } = await client.query<{ tenant_id: string; sequence: string }>(
    `select e.tenant_id, e.sequence from events e join webhooks w on w.tenant_id = e.tenant_id
     where e.occurred_at >= w.created_at`,
  )
  let lost = 0
  for (const { tenant_id, sequence } of rows)
    if (!receiver.arrived.get(tenant_id)?.includes(Number(sequence))) lost++
  let all = 0
  let outOfOrder = 0
  let twice = 0
  for (const arrived of receiver.arrived.values()) {
    const first = [...new Set(arrived)]
    all += arrived.length
    twice += arrived.length - first.length
    outOfOrder += first.filter((sequence, index) => index > 0 && sequence < first[index - 1]!).length
  }
  return {
    deliveries: all,
    deliveries_lost: lost,
    deliveries_out_of_order: outOfOrder,
    deliveries_twice: twice,
  }
}

function tally(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
