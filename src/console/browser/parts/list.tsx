import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { asProblem } from '../api/problem.ts'
import { Button } from './button.tsx'
import { cursorOf, type Filters } from './filters.ts'
import { Failed, Ghosts } from './notice.tsx'
import { texts } from './texts.ts'

interface Listed<T> {
  results: T[]
  next: string | null
  previous: string | null
  count?: number | null
}

/** A page of a list: loading, refused, empty, or the rows that `children` makes, with the way to other pages. */
export function List<T>({
  query,
  empty,
  change,
  children,
}: {
  query: UseQueryResult<Listed<T>>
  empty: ReactNode
  change: (filters: Filters) => void
  children: (rows: T[]) => ReactNode
}) {
  if (query.isPending) return <Ghosts rows={6} />
  if (query.isError) return <Failed problem={asProblem(query.error)} retry={() => void query.refetch()} />
  const { results, next, previous, count } = query.data
  if (results.length === 0) return empty
  const [earlier, later] = [cursorOf(previous), cursorOf(next)]
  return (
    <>
      {children(results)}
      {(earlier || later || count) && (
        <div className="card-foot">
          <span>{count ? texts.inAll(count) : ''}</span>
          {(earlier || later) && (
            <div className="pager">
              <Button disabled={!earlier} onClick={() => change({ cursor: earlier })}>
                {texts.earlier}
              </Button>
              <Button disabled={!later} onClick={() => change({ cursor: later })}>
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
export function Table({ columns, children }: { columns: string[]; children: ReactNode }) {
  return (
    <div className="table-box">
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
