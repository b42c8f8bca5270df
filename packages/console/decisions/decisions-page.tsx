import type { Decision } from '@bailiwick/client'
import { Link } from '@tanstack/react-router'
import { call } from '../api/client.ts'
import { asRequest } from '../audit/in-words.ts'
import { UserName } from '../members/user-name.tsx'
import { dayRange } from '../parts/filters.ts'
import { OpenLink } from '../parts/links.tsx'
import { ListPage } from '../parts/list.tsx'
import { Time } from '../parts/time.tsx'
import { choice } from '../parts/toolbar.tsx'
import { useMay } from '../session/session.ts'
import { OutcomeBadge } from './outcome-badge.tsx'
import { texts } from './texts.ts'

export function DecisionsPage() {
  const may = useMay()
  return (
    <ListPage
      {...texts}
      name="decisions"
      about={may('decision:list') && may('decision:read') ? texts.about : texts.aboutOwn}
      empty={{ icon: 'question', ...texts.empty }}
      fields={[
        { name: 'action', label: texts.action },
        choice('kind', texts.requests, texts.kinds),
        choice('effect', texts.anyOutcome, texts.outcomes),
        { name: 'resource_type', label: texts.resourceType, kind: 'text' },
        { name: 'from', label: texts.from, kind: 'day' },
        { name: 'to', label: texts.to, kind: 'day' },
        { name: 'subject_id', label: texts.subject, kind: 'set', show: (id) => <UserName id={id} /> },
      ]}
      read={({ from, to, ...asked }, signal) =>
        call('GET /decisions/', {
          query: { page_size: 25, ...asked, ...dayRange(from, to) } as never,
          signal,
        })
      }
      row={(decision) => <Row decision={decision} />}
    />
  )
}

function Row({ decision }: { decision: Decision }) {
  const { id, action, resource, subject, at } = decision
  return (
    <tr>
      <td>
        <Link className="row-button" to="/decisions/$id" params={{ id }}>
          {asRequest(action)}
        </Link>
        <code className="muted small block">{action}</code>
      </td>
      <td className="muted">
        {resource.type.replaceAll('_', ' ')}{' '}
        {resource.id && <code title={resource.id}>{resource.id.slice(-12)}</code>}
      </td>
      <td>
        <bdi>{subject.email ?? subject.id}</bdi>
      </td>
      <td>
        <OutcomeBadge {...decision} />
      </td>
      <td className="muted">
        <Time at={at} />
      </td>
      <td className="end">
        <OpenLink to="/decisions/$id" params={{ id }} label={texts.open(asRequest(action))} />
      </td>
    </tr>
  )
}
