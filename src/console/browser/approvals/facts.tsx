import { Link } from '@tanstack/react-router'
import type { ApprovalRequest } from '../../../client/api-types.ts'
import { Time } from '../parts/time.tsx'
import { useMay } from '../session/session.ts'
import { ObjectName } from './object-name.tsx'
import { texts } from './texts.ts'

const { request: words } = texts

/** The policy that asked, with a link for those who may read it. */
function PolicyName({ id }: { id: string }) {
  const name = <ObjectName short type="policy" id={id} />
  return useMay()('policy:read') ? (
    <Link to="/policies/$id" params={{ id }}>
      {name}
    </Link>
  ) : (
    name
  )
}

/** Who asks for what, on what, and why it has to be approved. */
export function Facts({ request }: { request: ApprovalRequest }) {
  const { requester, action, reason, context } = request
  return (
    <dl className="facts">
      <dt>{words.who}</dt>
      <dd>
        <bdi>{requester.email}</bdi>
      </dd>
      <dt>{words.what}</dt>
      <dd>
        <code>{action}</code>
      </dd>
      <dt>{words.object}</dt>
      <dd>
        <ObjectName type={request.resource_type} id={request.resource_id} />
      </dd>
      {reason && (
        <>
          <dt>{words.why}</dt>
          <dd>
            <bdi>{reason}</bdi>
          </dd>
        </>
      )}
      {request.policy_id && (
        <>
          <dt>{words.policy}</dt>
          <dd>
            <PolicyName id={request.policy_id} />{' '}
            {request.policy_version !== null && (
              <span className="muted">{words.version(request.policy_version)}</span>
            )}
          </dd>
        </>
      )}
      <dt>{words.from}</dt>
      <dd>{context.ip || '–'}</dd>
      <dt>{words.asked}</dt>
      <dd>
        <Time at={request.created_at} />
      </dd>
      <dt>{words.expires}</dt>
      <dd>
        <Time at={request.expires_at} />
      </dd>
    </dl>
  )
}
