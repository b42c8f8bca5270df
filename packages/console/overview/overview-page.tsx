import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { call } from '../api/client.ts'
import { inWords } from '../audit/in-words.ts'
import { texts as auditTexts } from '../audit/texts.ts'
import { Loading } from '../parts/loading.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { useProfile } from '../session/session.ts'
import { Charts } from './charts.tsx'
import { texts } from './texts.ts'
import { Waiting } from './waiting.tsx'

/** The first page of people who may read the audit log. */
export function OverviewPage() {
  const { name } = useProfile().current_tenant
  return (
    <Page title={texts.title} about={<bdi>{texts.about(name)}</bdi>}>
      <Charts />
      <div className="halves">
        <Waiting />
        <Latest />
      </div>
    </Page>
  )
}

function Latest() {
  const { id } = useProfile().current_tenant
  const { latest: words } = texts
  const query = useQuery({
    queryKey: ['audit', id, 'latest'],
    queryFn: ({ signal }) => call('GET /audit-log/', { query: { page_size: 50 }, signal }),
    refetchInterval: 60_000,
  })
  // Sign-ins are in the chart. Among them, changes would be hard to see.
  const changes = query.data?.results.filter(({ action }) => !action.startsWith('session:')).slice(0, 6) ?? []
  return (
    <Card
      title={words.title}
      actions={
        <Link className="small" to="/audit">
          {words.all}
        </Link>
      }
    >
      {!query.data && <Loading query={query} rows={4} />}
      {query.data && changes.length === 0 && <p className="card-body muted">{words.none}</p>}
      <ul className="rows">
        {changes.map((entry) => (
          <li key={entry.id}>
            <div className="what">
              <p>{inWords(entry.action)}</p>
              <p className="muted small">
                <bdi>
                  {entry.actor.type === 'system'
                    ? auditTexts.system
                    : (entry.actor.email ?? auditTexts.erased)}
                </bdi>
              </p>
            </div>
            <span className="muted small">
              <Time at={entry.at} />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  )
}
