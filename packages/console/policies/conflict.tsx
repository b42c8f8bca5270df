import type { Policy } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { call, callVersioned } from '../api/client.ts'
import { JsonDiff } from '../editor/json-diff.tsx'
import { Button } from '../parts/button.tsx'
import { Ghosts } from '../parts/notice.tsx'
import { Card } from '../parts/page.tsx'
import { documentOf } from './document.ts'
import type { Draft } from './drafts.ts'
import { texts } from './texts.ts'

const { conflict: words } = texts.editor

/** Another person saved this policy in the meantime: shows what they changed, and lets the author decide. */
export function Conflict({
  policy,
  draft,
  onMine,
  onTheirs,
}: {
  policy: Policy
  draft: Draft
  onMine: (etag: string | null) => void
  onTheirs: () => void
}) {
  const { id } = policy
  const query = useQuery({
    queryKey: ['policies', 'conflict', id],
    queryFn: async ({ signal }) => {
      const [now, { results }] = await Promise.all([
        callVersioned('GET /policies/{id}/', { path: { id }, signal }),
        call('GET /policies/{id}/versions/', { path: { id }, query: { page_size: 100 }, signal }),
      ])
      return { now, before: results.find(({ version }) => `"${version}"` === draft.etag) ?? policy }
    },
    gcTime: 0,
  })
  return (
    <Card title={words.title} about={words.about} danger>
      <div className="card-body" role="alert">
        {query.data ? (
          <JsonDiff before={documentOf(query.data.before)} after={documentOf(query.data.now.body)} />
        ) : (
          <Ghosts rows={3} />
        )}
        <div className="line">
          <Button
            kind="danger-quiet"
            disabled={!query.data}
            onClick={() => onMine(query.data?.now.etag ?? null)}
          >
            {words.mine}
          </Button>
          <Button onClick={onTheirs}>{words.theirs}</Button>
        </div>
      </div>
    </Card>
  )
}
