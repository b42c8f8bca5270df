import { z } from 'zod'
import { kindOfRow } from '../../database/decision-kind.ts'
import type { Read } from '../../database/executor/read.ts'
import { sql } from '../../database/executor/transaction.ts'
import { instant } from '../../database/instant.ts'
import { earliestId } from '../../messages/outbox/time-ordered-id.ts'

const day = z.object({
  date: z.string(),
  joined: z.number(),
  sign_ins: z.number(),
  failed_sign_ins: z.number(),
  denials: z.number(),
  scanned: z.number(),
})

export type ActivityDay = z.infer<typeof day>

/** More than the longest seven days of any time zone. */
const spanMs = 8 * 86_400_000

/**
 * What happened in the tenant on each of the last seven days of its time zone, the oldest first. `now` is in ms since
 * 1970. Reads at most `limit` rows of each kind, the newest; `scanned` is the largest number that it read.
 */
export function countActivity(
  read: Read,
  tenantId: string,
  { now, limit }: { now: number; limit: number },
): Promise<readonly ActivityDay[]> {
  const at = instant(now)
  const since = instant(now - spanMs)
  return read.any(sql.type(day)`
    with zone as (
      select coalesce(settings ->> 'time_zone', 'UTC') as name from tenants where id = ${tenantId}),
    rows as (
      (select 'joined' as kind, joined_at as at from memberships
       where tenant_id = ${tenantId} and joined_at >= ${since} and kind = 'user'
       order by joined_at desc limit ${limit})
      union all
      (select type, occurred_at from events
       where tenant_id = ${tenantId} and id >= ${earliestId(now - spanMs)}
       order by id desc limit ${limit})
      union all
      (select 'denial', at from decisions
       where tenant_id = ${tenantId} and effect = 'deny' and at >= ${since} and ${kindOfRow} = 'request'
       order by at desc limit ${limit})),
    counted as (
      select (at at time zone zone.name)::date as day, kind, count(*) as n from rows, zone group by 1, 2)
    select to_char(d.day, 'YYYY-MM-DD') as date,
           coalesce(sum(c.n) filter (where c.kind = 'joined'), 0)::int as joined,
           coalesce(sum(c.n) filter (where c.kind = 'identity.login_succeeded'), 0)::int as sign_ins,
           coalesce(sum(c.n) filter (where c.kind = 'identity.login_failed'), 0)::int as failed_sign_ins,
           coalesce(sum(c.n) filter (where c.kind = 'denial'), 0)::int as denials,
           (select coalesce(max(k.n), 0) from (
              select count(*) as n from rows group by kind = 'joined', kind = 'denial') k)::int as scanned
    from zone, lateral (
      select (${at} at time zone zone.name)::date - n as day from generate_series(0, 6) n) d
    left join counted c on c.day = d.day
    group by d.day order by d.day`)
}
