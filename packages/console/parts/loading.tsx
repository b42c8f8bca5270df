import type { UseQueryResult } from '@tanstack/react-query'
import { asProblem } from '../api/problem.ts'
import { Failed, Ghosts } from './notice.tsx'
import { Card, Page } from './page.tsx'

type Query = Pick<UseQueryResult<unknown>, 'error' | 'isError' | 'refetch'>

/** What stands in place of what a query reads: it is loading, or why it could not be loaded. */
export const Loading = ({ query, rows }: { query: Query; rows?: number }) =>
  query.isError ? (
    <Failed problem={asProblem(query.error)} retry={() => void query.refetch()} />
  ) : (
    <Ghosts {...(rows && { rows })} />
  )

/** A page whose object is not there yet. */
export const LoadingPage = ({
  query,
  rows,
  ...head
}: Omit<Parameters<typeof Page>[0], 'children'> & { query: Query; rows?: number }) => (
  <Page {...head}>
    <Card>
      <Loading query={query} {...(rows && { rows })} />
    </Card>
  </Page>
)
