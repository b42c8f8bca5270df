import type { ApprovalRequest } from '@bailiwick/client'
import { Link } from '@tanstack/react-router'
import { Facts } from '../parts/facts.tsx'
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

/** Who asks: a person by the address, a service account by its name. */
export const Requester = ({ request: { requester, subject } }: { request: ApprovalRequest }) =>
  requester.email ? (
    <bdi>{requester.email}</bdi>
  ) : (
    <ObjectName
      short
      type={subject.id === requester.id ? subject.type : 'service_account'}
      id={requester.id}
    />
  )

/** Who would act, where that is another one than who asks. */
function Subject({ subject }: Pick<ApprovalRequest, 'subject'>) {
  if (subject.email) return <bdi>{subject.email}</bdi>
  const isMember = ['user', 'service_account'].includes(subject.type)
  return <ObjectName short={isMember} type={subject.type} id={subject.id} />
}

/** Who asks for what, on what, and why it has to be approved. */
export function RequestFacts({ request }: { request: ApprovalRequest }) {
  const { requester, subject, action, reason, message } = request
  return (
    <Facts
      of={[
        [words.who, <Requester request={request} />],
        [words.subject, subject.id !== requester.id && <Subject subject={subject} />],
        [words.what, <code>{action}</code>],
        [words.object, <ObjectName type={request.resource_type} id={request.resource_id} />],
        [words.message, message && <bdi>{message}</bdi>],
        [words.why, reason && <bdi>{reason}</bdi>],
        [
          words.policy,
          request.policy_id && (
            <>
              <PolicyName id={request.policy_id} />{' '}
              {request.policy_version !== null && (
                <span className="muted">{words.version(request.policy_version)}</span>
              )}
            </>
          ),
        ],
        [words.from, request.kind === 'call' && (request.context.ip || '–')],
        [words.asked, <Time at={request.created_at} />],
        [words.expires, <Time at={request.expires_at} />],
      ]}
    />
  )
}
