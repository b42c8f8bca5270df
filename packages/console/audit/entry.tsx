import type { AuditEntry } from '@bailiwick/client'
import { deviceName } from '../account/device-name.ts'
import { Facts } from '../parts/facts.tsx'
import { Time } from '../parts/time.tsx'
import { shown } from './in-words.ts'
import { texts } from './texts.ts'

const { entry: words } = texts

/** One entry of the log: what it changed, field by field, and where it came from. */
export function Entry({ entry, who }: { entry: AuditEntry; who: string }) {
  const changes = Object.entries(entry.changes)
  return (
    <div className="dialog-body">
      <Facts
        of={[
          [words.at, <Time at={entry.at} form="exact" />],
          [words.who, <bdi>{who}</bdi>],
          [words.impersonator, entry.impersonator && <bdi>{entry.impersonator.email ?? texts.erased}</bdi>],
          [
            words.target,
            <>
              {entry.target.type.replaceAll('_', ' ')} <code>{entry.target.id}</code>
            </>,
          ],
          [words.ip, entry.ip || '–'],
          [words.browser, <span title={entry.user_agent}>{deviceName(entry.user_agent)?.name ?? '–'}</span>],
          [words.request, <code>{entry.request_id}</code>],
          [words.decision, entry.decision_id && <code>{entry.decision_id}</code>],
        ]}
      />
      <h3>{words.changes}</h3>
      {changes.length === 0 ? <p className="muted">{words.none}</p> : <Diff changes={changes} />}
    </div>
  )
}

/** Fields with their values before and after. */
export function Diff({ changes }: { changes: [string, { before: unknown; after: unknown }][] }) {
  return (
    <div className="table-box diff">
      <table className="table">
        <thead>
          <tr>
            {[words.field, words.before, words.after].map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {changes.map(([field, { before, after }]) => (
            <tr key={field}>
              <td>
                <code>{field}</code>
              </td>
              <td className="before" data-title={words.before}>
                <bdi>{shown(before)}</bdi>
              </td>
              <td className="after" data-title={words.after}>
                <bdi>{shown(after)}</bdi>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
