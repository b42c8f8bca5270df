import type { Event } from '@bailiwick/client'
import { useState } from 'react'
import { eventTypes } from '../api/names.ts'
import { UserName } from '../members/user-name.tsx'
import { Button } from '../parts/button.tsx'
import { CopyButton } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { useFilters } from '../parts/filters.ts'
import { Table } from '../parts/list.tsx'
import { Loading } from '../parts/loading.tsx'
import { Empty, Notice } from '../parts/notice.tsx'
import { Card, Page } from '../parts/page.tsx'
import { texts as words } from '../parts/texts.ts'
import { Time } from '../parts/time.tsx'
import { Toolbar } from '../parts/toolbar.tsx'
import { eventInWords } from './in-words.ts'
import { texts } from './texts.ts'
import { useFeed } from './use-feed.ts'

const families = [...new Set(eventTypes.map((type) => type.slice(0, type.indexOf('.'))))]
const options = families.flatMap((family) => [
  [`${family}.*`, texts.all(family)] as const,
  ...eventTypes.filter((type) => type.startsWith(`${family}.`)).map((type) => [type, type] as const),
])

const isOfType = ({ event_type: type }: Event, wanted: string | undefined) =>
  !wanted || (wanted.endsWith('.*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted)

const mentions = ({ id, subject, actorid, data }: Event, text: string) =>
  [id, subject, actorid ?? '', JSON.stringify(data)].some((value) => value.toLowerCase().includes(text))

export function EventsPage() {
  const [filters, change] = useFilters()
  const { type, about } = filters
  const [live, setLive] = useState(true)
  const [open, setOpen] = useState<Event | null>(null)
  const { events, known, isBehind } = useFeed(live)
  const wanted = (about ?? '').trim().toLowerCase()
  const shown = events.filter((event) => isOfType(event, type) && mentions(event, wanted))
  return (
    <Page
      title={texts.title}
      about={texts.about}
      actions={
        <>
          <span className="pulse" data-live={live || undefined} role="status">
            {live ? texts.live : texts.paused}
          </span>
          <Button onClick={() => setLive(!live)}>{live ? texts.pause : texts.goOn}</Button>
        </>
      }
    >
      <Toolbar
        fields={[
          { name: 'about', label: texts.search },
          { name: 'type', label: texts.anyType, kind: 'choice', options },
        ]}
        filters={filters}
        change={change}
      />
      {isBehind && <Notice tone="warn">{texts.behind}</Notice>}
      <Card>
        {!known.data && <Loading query={known} rows={6} />}
        {known.isSuccess && events.length === 0 && (
          <Empty icon="pulse" title={texts.empty.title}>
            {texts.empty.about}
          </Empty>
        )}
        {events.length > 0 && shown.length === 0 && (
          <Empty
            icon="search"
            title={words.none}
            action={
              <Button onClick={() => change({ type: undefined, about: undefined })}>{words.clear}</Button>
            }
          >
            {texts.none}
          </Empty>
        )}
        {shown.length > 0 && (
          <Table columns={texts.columns}>
            {shown.map((event) => (
              <Row key={event.id} event={event} onOpen={() => setOpen(event)} />
            ))}
          </Table>
        )}
        {events.length > 0 && (
          <div className="card-foot">
            <span>{texts.loaded(shown.length, events.length)}</span>
            {known.hasNextPage && (
              <Button busy={known.isFetchingNextPage} onClick={() => void known.fetchNextPage()}>
                {texts.older}
              </Button>
            )}
          </div>
        )}
      </Card>
      <Dialog
        wide
        open={open !== null}
        onClose={() => setOpen(null)}
        title={open ? eventInWords(open.event_type) : ''}
        about={open?.sequence ? texts.number(open.sequence) : undefined}
      >
        {open && <Envelope event={open} />}
      </Dialog>
    </Page>
  )
}

function Row({ event, onOpen }: { event: Event; onOpen: () => void }) {
  const { event_type: type, actorid: actor, subject, time } = event
  return (
    <tr className="arrives">
      <td>
        <button type="button" className="row-button" onClick={onOpen}>
          {eventInWords(type)}
        </button>
        <code className="muted small block">{type}</code>
      </td>
      <td>{actor ? <UserName id={actor} /> : <span className="muted">{texts.service}</span>}</td>
      <td className="muted">
        {subject === actor ? texts.themselves : <code title={subject}>{subject.slice(-12)}</code>}
      </td>
      <td className="muted">
        <Time at={time} />
      </td>
      <td className="end">
        <Button kind="quiet" icon="eye" aria-label={texts.details(type)} onClick={onOpen} />
      </td>
    </tr>
  )
}

function Envelope({ event }: { event: Event }) {
  const text = JSON.stringify(event, null, 2)
  return (
    <div className="dialog-body">
      <div className="line spread">
        <h3>{texts.envelope}</h3>
        <CopyButton text={text} />
      </div>
      <pre className="json">{text}</pre>
    </div>
  )
}
