import type { AuditEntry } from '@bailiwick/client'
import { call } from '../api/client.ts'
import { saveText } from '../parts/copy.tsx'
import { cursorOf, type Filters } from '../parts/filters.ts'

const most = 20_000

/** Reads the entries that match, newest first; `onProgress` gets their number. Says whether there are more. */
async function readAll(filters: Filters, onProgress: (count: number) => void) {
  const entries: AuditEntry[] = []
  let cursor: string | undefined
  do {
    const query = { ...filters, cursor, page_size: 100 }
    const page = await call('GET /audit-log/', { query })
    entries.push(...page.results)
    onProgress(entries.length)
    cursor = cursorOf(page.next)
  } while (cursor !== undefined && entries.length < most)
  return { entries, more: cursor !== undefined }
}

const columns = [
  'at',
  'action',
  'actor',
  'actor_id',
  'impersonator',
  'impersonator_id',
  'target_type',
  'target_id',
  'ip',
  'user_agent',
  'request_id',
  'changes',
]

const cells = (entry: AuditEntry): string[] => [
  entry.at,
  entry.action,
  entry.actor.email ?? '',
  entry.actor.id ?? '',
  entry.impersonator?.email ?? '',
  entry.impersonator?.id ?? '',
  entry.target.type,
  entry.target.id,
  entry.ip,
  entry.user_agent,
  entry.request_id,
  JSON.stringify(entry.changes),
]

/** RFC 4180. A cell that a spreadsheet would take for a formula gets an apostrophe. */
const quoted = (cell: string) => `"${cell.replace(/^[=+\-@\t\r]/, "'$&").replaceAll('"', '""')}"`

export async function exportEntries(
  form: 'csv' | 'jsonl',
  filters: Filters,
  onProgress: (count: number) => void,
): Promise<{ count: number; more: boolean }> {
  const { entries, more } = await readAll(filters, onProgress)
  const lines =
    form === 'csv'
      ? [columns, ...entries.map(cells)].map((row) => row.map(quoted).join(','))
      : entries.map((entry) => JSON.stringify(entry))
  saveText(`audit-log.${form}`, lines.map((line) => `${line}\r\n`).join(''))
  return { count: entries.length, more }
}
