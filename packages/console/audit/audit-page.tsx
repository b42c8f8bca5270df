import type { AuditEntry } from '@bailiwick/client'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { dayRange, type Filters, useFilters } from '../parts/filters.ts'
import { ListPage } from '../parts/list.tsx'
import { Menu, MenuItem } from '../parts/menu.tsx'
import { Time } from '../parts/time.tsx'
import { say, sayFault } from '../parts/toasts.tsx'
import { Entry } from './entry.tsx'
import { exportEntries } from './export.ts'
import { inWords } from './in-words.ts'
import { texts } from './texts.ts'

const asked = ({ action, from, to }: Filters): Filters => ({ action, ...dayRange(from, to) })

export function AuditPage() {
  const [filters] = useFilters()
  const [open, setOpen] = useState<AuditEntry | null>(null)
  return (
    <ListPage
      {...texts}
      name="audit"
      actions={<Export filters={asked(filters)} />}
      empty={{ icon: 'scroll', ...texts.empty }}
      fields={[
        { name: 'action', label: texts.action },
        { name: 'from', label: texts.from, kind: 'day' },
        { name: 'to', label: texts.to, kind: 'day' },
      ]}
      read={(filters, signal) =>
        call('GET /audit-log/', {
          query: { page_size: 25, ...asked(filters), cursor: filters.cursor },
          signal,
        })
      }
      row={(entry) => (
        <tr>
          <td>
            <button type="button" className="row-button" onClick={() => setOpen(entry)}>
              {inWords(entry.action)}
            </button>
            <code className="muted small block">{entry.action}</code>
          </td>
          <td className="muted">
            {entry.target.type.replaceAll('_', ' ')}{' '}
            <code title={entry.target.id}>{entry.target.id.slice(-12)}</code>
          </td>
          <td>
            <bdi>{whoOf(entry)}</bdi>
          </td>
          <td className="muted">
            <Time at={entry.at} />
          </td>
          <td className="end">
            <Button
              kind="quiet"
              icon="eye"
              aria-label={texts.details(entry.action)}
              onClick={() => setOpen(entry)}
            />
          </td>
        </tr>
      )}
    >
      <Dialog
        wide
        open={open !== null}
        onClose={() => setOpen(null)}
        title={open ? inWords(open.action) : ''}
      >
        {open && <Entry entry={open} who={whoOf(open)} />}
      </Dialog>
    </ListPage>
  )
}

const whoOf = ({ actor, impersonator }: AuditEntry) => {
  const who = actor.type === 'system' ? texts.system : (actor.email ?? texts.erased)
  return impersonator ? texts.asWhom(impersonator.email ?? texts.erased, who) : who
}

function Export({ filters }: { filters: Filters }) {
  const [count, setCount] = useState<number | null>(null)
  const run = async (form: 'csv' | 'jsonl') => {
    setCount(0)
    try {
      const { count, more } = await exportEntries(form, filters, setCount)
      say(texts.exported(count), more ? texts.cut : undefined)
    } catch (error) {
      sayFault(error)
    } finally {
      setCount(null)
    }
  }
  return (
    <Menu
      trigger={
        <Button icon="download" busy={count !== null}>
          {count === null ? texts.export : texts.exporting(count)}
        </Button>
      }
    >
      <MenuItem onClick={() => void run('csv')}>{texts.csv}</MenuItem>
      <MenuItem onClick={() => void run('jsonl')}>{texts.jsonl}</MenuItem>
    </Menu>
  )
}
