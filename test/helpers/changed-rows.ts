import { rowsOf } from './query.ts'

/** Logs, queues, counters and sign-ins on their way: each try may write there. */
const logs = [
  ...[
    'account_attempts',
    'audit_log',
    'captured_mails',
    'connection_sign_ins',
    'daily_counts',
    'dead_letters',
  ],
  ...[
    'decisions',
    'event_sequences',
    'events',
    'federation_flows',
    'feed_entries',
    'login_attempts',
    'mails',
  ],
  ...['outbox', 'policy_stats', 'row_counts', 'schema_migrations', 'stored_calls', 'webhook_deliveries'],
]

/** The rows of a database by table and id, each as a hash. Without logs, queues and counters. */
export type Rows = ReadonlyMap<string, string>

export async function readRows(url: string): Promise<Rows> {
  const tables = await rowsOf(
    url,
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition`,
  )
  const names = tables.map(({ name }) => String(name)).filter((name) => !logs.includes(name))
  const rows = await rowsOf(
    url,
    names
      .map(
        (name) =>
          `select '${name} ' || coalesce(to_jsonb(t)->>'id', md5(t::text)) as key, md5(t::text) as hash from "${name}" t`,
      )
      .join(' union all '),
  )
  return new Map(rows.map(({ key, hash }) => [String(key), String(hash)]))
}

/** What differs: `+sessions` for a row that is new, `-` for one that is gone, `~` for one that has changed. Sorted. */
export function changesOf(before: Rows, after: Rows): string[] {
  const changes: string[] = []
  const table = (key: string) => key.split(' ')[0]!
  for (const [key, hash] of after) {
    const was = before.get(key)
    if (was !== hash) changes.push(`${was === undefined ? '+' : '~'}${table(key)}`)
  }
  for (const key of before.keys()) if (!after.has(key)) changes.push(`-${table(key)}`)
  return changes.sort()
}
