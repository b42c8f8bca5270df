import type { Activity } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import { Bars } from '../parts/bars.tsx'
import { Failed, Ghosts } from '../parts/notice.tsx'
import { Card } from '../parts/page.tsx'
import { useProfile } from '../session/session.ts'
import { texts } from './texts.ts'

const { charts: words } = texts
type Day = Activity['days'][number]
type Count = Exclude<keyof Day, 'date'>

const short = new Intl.DateTimeFormat('en', { weekday: 'short', timeZone: 'UTC' })
const long = new Intl.DateTimeFormat('en', {
  weekday: 'long',
  day: 'numeric',
  month: 'long',
  timeZone: 'UTC',
})
// A date without a time is a day of the organisation's zone: it is the same day for every reader.
const asDate = ({ date }: Day) => new Date(`${date}T00:00:00Z`)

/** People, sign-ins and denials of the last seven days. */
export function Charts() {
  const { id } = useProfile().current_tenant
  const activity = useQuery({
    queryKey: ['activity', id],
    queryFn: ({ signal }) => call('GET /activity/', { signal }),
    refetchInterval: 60_000,
  })
  const people = useQuery({
    queryKey: ['members', id, 'count'],
    queryFn: ({ signal }) =>
      call('GET /tenants/{id}/members/', { path: { id }, query: { page_size: 1, kind: 'user' }, signal }),
  })
  if (activity.isError)
    return (
      <Card>
        <Failed problem={asProblem(activity.error)} retry={() => void activity.refetch()} />
      </Card>
    )
  if (!activity.data)
    return (
      <Card>
        <Ghosts rows={3} />
      </Card>
    )
  const { days, complete } = activity.data
  const sum = (count: Count) => days.reduce((total, day) => total + day[count], 0)
  const shown = (count: Count) => (complete ? sum(count).toLocaleString('en') : words.atLeast(sum(count)))
  return (
    <>
      <div className="charts">
        <Chart
          title={words.people}
          figure={people.data?.count?.toLocaleString('en') ?? '–'}
          about={words.peopleAbout(sum('joined'))}
          days={days}
          columns={[[words.joined, 'joined']]}
        />
        <Chart
          title={words.signIns}
          figure={shown('sign_ins')}
          about={words.signInsAbout(sum('failed_sign_ins'))}
          days={days}
          columns={[
            [words.signIns, 'sign_ins'],
            [words.failed, 'failed_sign_ins'],
          ]}
        />
        <Chart
          title={words.denials}
          figure={shown('denials')}
          about={words.denialsAbout}
          days={days}
          columns={[[words.denials, 'denials']]}
          tone="danger"
        />
      </div>
      {!complete && <p className="muted small">{words.incomplete}</p>}
    </>
  )
}

function Chart({
  title,
  figure,
  about,
  days,
  columns,
  tone,
}: {
  title: string
  figure: string
  about: string
  days: readonly Day[]
  /** The numbers of a day: the first is drawn strong, the second faint. */
  columns: readonly (readonly [label: string, count: Count])[]
  tone?: 'danger'
}) {
  const [[, strong] = ['', 'joined' as Count], faint] = columns
  return (
    <Card>
      <div className="chart">
        <h2>{title}</h2>
        <p className="figure">{figure}</p>
        <p className="muted small">{about}</p>
        <Bars
          tone={tone}
          bars={days.map((day) => ({
            label: day.date,
            value: day[strong],
            ...(faint && { more: day[faint[1]] }),
          }))}
        />
        <div className="bar-days" aria-hidden="true">
          {days.map((day) => (
            <span key={day.date} title={`${long.format(asDate(day))}: ${day[strong]}`}>
              {short.format(asDate(day)).slice(0, 2)}
            </span>
          ))}
        </div>
        <table className="hidden-text">
          <caption>{title}</caption>
          <thead>
            <tr>
              <th scope="col">{words.day}</th>
              {columns.map(([label]) => (
                <th scope="col" key={label}>
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {days.map((day) => (
              <tr key={day.date}>
                <th scope="row">{long.format(asDate(day))}</th>
                {columns.map(([label, count]) => (
                  <td key={label}>{day[count]}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  )
}
