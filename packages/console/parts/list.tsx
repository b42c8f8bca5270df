import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { Fragment, type ReactNode } from 'react'
import { asProblem } from '../api/problem.ts'
import { useProfile } from '../session/session.ts'
import { Button } from './button.tsx'
import { cursorOf, type Filters, useFilters } from './filters.ts'
import type { IconName } from './icon.tsx'
import { Empty, Failed, Ghosts } from './notice.tsx'
import { Card, Page } from './page.tsx'
import { texts } from './texts.ts'
import { type Filter, Toolbar } from './toolbar.tsx'

interface Listed<T> {
  results: T[]
  next: string | null
  previous: string | null
  count?: number | null
}

interface Rows<R> {
  columns: string[]
  /** A row of the table: a `tr`, whose last cell is for actions. */
  row: (one: R) => ReactNode
  /** What is shown while there is nothing. */
  empty?: { icon: IconName; title: string; about: string; action?: ReactNode }
}

interface Filtered<T> extends Rows<T> {
  /** The first part of the key of the query, by which a change reloads the list. */
  name: string
  /** What the list belongs to, if that is not the organisation. */
  of?: string
  /** Reads one page of the list, with the filters of the address. */
  read: (filters: Filters, signal: AbortSignal) => Promise<Listed<T>>
  fields?: readonly Filter[]
  /** Milliseconds after which the rows are read again. */
  poll?: (rows: T[]) => number | false
  /** The list is in a card of its page, with this head. */
  card?: { title: string; about: string; actions?: ReactNode }
}

/** A list with its filters, which are in the address, and the way to other pages. */
export function FilteredList<T extends { id: string }>({
  name,
  of,
  read,
  fields = [],
  poll,
  card,
  ...rows
}: Filtered<T>) {
  const { id: tenant } = useProfile().current_tenant
  const [filters, change] = useFilters()
  const query = useQuery({
    queryKey: [name, tenant, of, filters],
    queryFn: ({ signal }) => read(filters, signal),
    placeholderData: (before) => before,
    refetchInterval: ({ state }) => (state.data && poll?.(state.data.results)) || false,
  })
  const clear = () => change(Object.fromEntries(fields.map((field) => [field.name, undefined])))
  const isFiltered = fields.some((field) => filters[field.name])
  const toolbar = fields.length > 0 && (
    <Toolbar {...{ fields, filters, change }} inCard={card !== undefined} />
  )
  return (
    <>
      {!card && toolbar}
      <Card {...card}>
        {card && toolbar}
        <List query={query} change={change} onClear={isFiltered ? clear : undefined} {...rows} />
      </Card>
    </>
  )
}

/** A page that is a list. `head` is above it, and `children` are its dialogs. */
export function ListPage<T extends { id: string }>({
  title,
  about,
  actions,
  head,
  children,
  ...list
}: Filtered<T> & {
  title: string
  about: string
  actions?: ReactNode
  head?: ReactNode
  children?: ReactNode
}) {
  return (
    <Page {...{ title, about, actions }}>
      {head}
      <FilteredList {...list} />
      {children}
    </Page>
  )
}

/** A page of a list: loading, refused, empty, or its rows. With `onClear`, filters can be what leaves it empty. */
export function List<T, R = T>({
  query,
  change,
  columns,
  row,
  empty,
  onClear,
  arrange = (rows) => rows as unknown as R[],
}: Rows<R> & {
  query: UseQueryResult<Listed<T>>
  change?: (filters: Filters) => void
  onClear?: (() => void) | undefined
  arrange?: (rows: T[]) => R[]
}) {
  if (query.isPending) return <Ghosts rows={6} />
  if (query.isError) return <Failed problem={asProblem(query.error)} retry={() => void query.refetch()} />
  const { results, next, previous, count } = query.data
  if (results.length === 0)
    return onClear ? (
      <Empty icon="search" title={texts.none} action={<Button onClick={onClear}>{texts.clear}</Button>}>
        {texts.noneAbout}
      </Empty>
    ) : (
      empty && <Empty {...empty}>{empty.about}</Empty>
    )
  const [earlier, later] = [cursorOf(previous), cursorOf(next)]
  return (
    <>
      <Table columns={columns} isOld={query.isPlaceholderData}>
        {arrange(results).map((one, index) => (
          <Fragment key={(one as { id?: string }).id ?? index}>{row(one)}</Fragment>
        ))}
      </Table>
      {(earlier || later || count) && (
        <div className="card-foot">
          <span>{count ? texts.inAll(count) : ''}</span>
          {(earlier || later) && (
            <div className="pager">
              <Button disabled={!earlier} onClick={() => change?.({ cursor: earlier })}>
                {texts.earlier}
              </Button>
              <Button disabled={!later} onClick={() => change?.({ cursor: later })}>
                {texts.later}
              </Button>
            </div>
          )}
        </div>
      )}
    </>
  )
}

/** A table that becomes a list of cards on small screens. The last column is for actions. */
export function Table({
  columns,
  isOld = false,
  children,
}: {
  columns: string[]
  /** Other rows are being read. */
  isOld?: boolean
  children: ReactNode
}) {
  return (
    <div className="table-box" aria-busy={isOld} data-stale={isOld || undefined}>
      <table className="table">
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
            <th scope="col" className="end">
              <span className="hidden-text">{texts.actions}</span>
            </th>
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
