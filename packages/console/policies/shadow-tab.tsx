import type { Policy, PolicyStats } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Loading } from '../parts/loading.tsx'
import { Empty } from '../parts/notice.tsx'
import { Card } from '../parts/page.tsx'
import { Preview } from './preview.tsx'
import { texts } from './texts.ts'

const { shadow: words } = texts
type Counted = keyof typeof words.totals
const counted = Object.keys(words.totals) as Counted[]

/** What a policy in shadow mode would have done, and the way to enforce it. */
export function ShadowTab({ policy }: { policy: Policy }) {
  const { id, mode } = policy
  const [isPreviewed, setPreviewed] = useState(false)
  const query = useQuery({
    queryKey: ['policies', 'stats', id],
    queryFn: ({ signal }) => call('GET /policies/{id}/stats/', { path: { id }, signal }),
  })
  if (!query.data)
    return (
      <Card>
        <Loading query={query} />
      </Card>
    )
  const { days } = query.data
  const isShadow = mode === 'shadow'
  return (
    <>
      <Card
        title={isShadow ? texts.modes.shadow : words.enforced}
        about={isShadow ? words.about : words.enforcedAbout}
        actions={
          isShadow && (
            <Button kind="primary" icon="play" onClick={() => setPreviewed(true)}>
              {words.preview}
            </Button>
          )
        }
      >
        {days.length > 0 ? (
          <Stats days={days} />
        ) : (
          isShadow && (
            <Empty icon="clock" title={words.none}>
              {words.noneAbout}
            </Empty>
          )
        )}
      </Card>
      {isPreviewed && isShadow && <Preview id={id} document={null} policy={policy} />}
    </>
  )
}

function Stats({ days }: { days: PolicyStats['days'] }) {
  const sum = (name: Counted) => days.reduce((total, day) => total + day[name], 0)
  return (
    <>
      <dl className="figures">
        {counted.map((name) => (
          <div key={name}>
            <dd>{sum(name).toLocaleString('en')}</dd>
            <dt>{words.totals[name]}</dt>
          </div>
        ))}
      </dl>
      <div className="table-box">
        <table className="table numbers">
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
            {days.map((day) => (
              <tr key={`${day.day} ${day.version}`}>
                <td>{day.day}</td>
                {(['version', 'evaluated', 'would_deny', 'would_gate', 'would_allow', 'errors'] as const).map(
                  (name, index) => (
                    <td key={name} data-title={words.columns[index + 1]}>
                      {day[name].toLocaleString('en')}
                    </td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}
