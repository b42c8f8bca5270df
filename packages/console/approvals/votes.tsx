import type { ApprovalRequest } from '@bailiwick/client'
import { Avatar } from '../parts/avatar.tsx'
import { Badge } from '../parts/button.tsx'
import { Time } from '../parts/time.tsx'
import { texts } from './texts.ts'

const { request: words } = texts

export function Votes({ votes }: { votes: ApprovalRequest['votes'] }) {
  if (votes.length === 0) return <p className="muted">{words.noVotes}</p>
  return (
    <ul className="votes">
      {votes.map(({ approver, decision, comment, at }) => (
        <li key={approver.id}>
          <Avatar name={approver.email} of={approver.email} />
          <div>
            <p className="line">
              <bdi>{approver.email}</bdi>
              <Badge tone={decision === 'approve' ? 'good' : 'danger'}>
                {decision === 'approve' ? words.approved : words.rejected}
              </Badge>
              <span className="muted small">
                <Time at={at} />
              </span>
            </p>
            {comment && (
              <p className="quote">
                <bdi>{comment}</bdi>
              </p>
            )}
          </div>
        </li>
      ))}
    </ul>
  )
}
