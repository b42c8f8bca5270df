import type { Department, Role } from '@bailiwick/client'
import { Problem } from '@bailiwick/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { asProblem, isLasting } from '../api/problem.ts'
import { Badge } from '../parts/button.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { TextArea } from '../parts/field.tsx'
import { Notice } from '../parts/notice.tsx'
import { say } from '../parts/toasts.tsx'
import { useProfile } from '../session/session.ts'
import { type InvitedRow, readTable } from './read-rows.ts'
import { texts } from './texts.ts'

const { csv: words } = texts
const most = 500

/**
 * Invites the people of a pasted table, after a preview of what is wrong with it. Lines that were refused, or not
 * reached, stay in the field.
 */
export function TableDialog({
  onClose,
  roles,
  departments,
}: {
  onClose: () => void
  roles: Role[]
  departments: Department[]
}) {
  const client = useQueryClient()
  const { id } = useProfile().current_tenant
  const [text, setText] = useState('')
  const [refused, setRefused] = useState<ReadonlyMap<string, string>>(new Map())
  const [done, setDone] = useState<number | null>(null)
  const known = { roles: roles.map(({ name }) => name).filter((name) => name !== 'owner'), departments }
  const { titles, faults: wrongTitles, rows } = readTable(text, known)
  const good = wrongTitles.length > 0 ? [] : rows.filter(({ faults }) => faults.length === 0)

  const inviteAll = async () => {
    if (rows.length > most) throw new Problem(400, { detail: words.tooMany(most) })
    if (good.length === 0) throw new Problem(400, { detail: wrongTitles.join(' ') || words.none })
    const faults = new Map<string, string>()
    let stop: Problem | null = null
    let invited = 0
    for (const { line, email, roles, departmentId, externalId } of good) {
      const body = { email, roles, department_id: departmentId, external_id: externalId }
      if (stop) faults.set(line, words.notReached)
      else
        await call('POST /tenants/{id}/invitations/', { path: { id }, body }).then(
          () => setDone(++invited),
          (error) => {
            const problem = asProblem(error)
            faults.set(line, problem.message)
            if (!isLasting(problem)) stop = problem
          },
        )
    }
    setDone(null)
    await client.invalidateQueries({ queryKey: ['invitations'] })
    if (invited > 0) say(texts.dialog.done(invited))
    setRefused(faults)
    const left = rows.filter((row) => row.faults.length > 0 || faults.has(row.line))
    // Without its titles, what is left could be read in another order.
    const kept = titles === null || left.length === 0 ? [] : [titles]
    setText([...kept, ...left.map(({ line }) => line)].join('\n'))
    if (left.length > 0) throw stop ?? new Problem(400, { detail: words.left(left.length) })
  }
  return (
    <FormDialog
      open
      wide
      onClose={onClose}
      title={words.title}
      about={words.about}
      go={done === null ? words.go(good.length) : words.going(done, good.length)}
      submit={inviteAll}
    >
      <TextArea
        label={words.label}
        hint={<code>{words.example}</code>}
        name="table"
        className="mono"
        rows={6}
        autoFocus
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {wrongTitles.length > 0 ? (
        <Notice tone="danger">
          <bdi>{wrongTitles.join(' ')}</bdi>
        </Notice>
      ) : (
        rows.length > good.length && (
          <Notice tone="warn">{words.faulty(rows.length - good.length, rows.length)}</Notice>
        )
      )}
      {rows.length > 0 && wrongTitles.length === 0 && <Preview rows={rows} refused={refused} />}
    </FormDialog>
  )
}

/** The rows with faults first, because they need the reader. */
function Preview({ rows, refused }: { rows: readonly InvitedRow[]; refused: ReadonlyMap<string, string> }) {
  const whyOf = ({ line, faults }: InvitedRow) => [
    ...faults,
    ...(refused.has(line) ? [refused.get(line)] : []),
  ]
  const shown = rows.toSorted((one, other) => whyOf(other).length - whyOf(one).length).slice(0, 100)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys
    <section className="table-box diff" aria-label={words.preview} tabIndex={0}>
      <table className="table">
        <thead>
          <tr>
            {words.columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <tr key={row.line}>
              <td>
                <bdi>{row.email || row.line}</bdi>
                {whyOf(row).map((why) => (
                  <span key={why} className="small block before">
                    <bdi>{why}</bdi>
                  </span>
                ))}
              </td>
              <td>
                <span className="line">
                  {row.roles.map((role) => (
                    <Badge key={role}>
                      <bdi>{role}</bdi>
                    </Badge>
                  ))}
                </span>
              </td>
              <td className="muted">
                <bdi>{row.department}</bdi>
              </td>
              <td className="muted">
                <bdi>{row.externalId}</bdi>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
