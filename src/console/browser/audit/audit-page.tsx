import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { AuditEntry } from '../../../client/api-types.ts'
import { call } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { DayFilter, dayRange } from '../parts/day-filter.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { SearchField } from '../parts/field.tsx'
import { type Filters, useFilters, useTyped } from '../parts/filters.ts'
import { List, Table } from '../parts/list.tsx'
import { Menu, MenuItem } from '../parts/menu.tsx'
import { Empty } from '../parts/notice.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { say, sayFault } from '../parts/toasts.tsx'
import { useProfile } from '../session/session.ts'
import { Entry } from './entry.tsx'
import { exportEntries } from './export.ts'
import { inWords } from './in-words.ts'
import { texts } from './texts.ts'

export function AuditPage() {
  const { id } = useProfile().current_tenant
  const [filters, change] = useFilters()
  const [typed, setTyped] = useTyped(filters.action ?? '', (action) => change({ action }))
  const [open, setOpen] = useState<AuditEntry | null>(null)
  const { action, from, to, cursor } = filters
  const asked: Filters = { action, ...dayRange(from, to) }
  const query = useQuery({
    queryKey: ['audit', id, filters],
    queryFn: ({ signal }) => call('GET /audit-log/', { query: { page_size: 25, ...asked, cursor }, signal }),
    placeholderData: (before) => before,
  })
  const clear = () => {
    setTyped('')
    change({ action: undefined, from: undefined, to: undefined })
  }
  return (
    <Page title={texts.title} about={texts.about} actions={<Export filters={asked} />}>
      <div className="toolbar">
        <SearchField label={texts.action} value={typed} onChange={(event) => setTyped(event.target.value)} />
        {(['from', 'to'] as const).map((end) => (
          <DayFilter
            key={end}
            label={texts[end]}
            value={filters[end]}
            onChange={(day) => change({ [end]: day })}
          />
        ))}
      </div>
      <Card>
        <List
          query={query}
          change={change}
          empty={
            <Empty
              icon="scroll"
              title={texts.empty.title}
              action={<Button onClick={clear}>{texts.empty.clear}</Button>}
            >
              {texts.empty.about}
            </Empty>
          }
        >
          {(entries) => (
            <Table columns={texts.columns}>
              {entries.map((entry) => (
                <tr key={entry.id}>
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
              ))}
            </Table>
          )}
        </List>
      </Card>
      <Dialog
        wide
        open={open !== null}
        onClose={() => setOpen(null)}
        title={open ? inWords(open.action) : ''}
      >
        {open && <Entry entry={open} who={whoOf(open)} />}
      </Dialog>
    </Page>
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
