import type { ExplainedDecision } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { call } from '../api/client.ts'
import { asRequest } from '../audit/in-words.ts'
import { Badge, Button } from '../parts/button.tsx'
import { Facts } from '../parts/facts.tsx'
import { BackLink } from '../parts/links.tsx'
import { LoadingPage } from '../parts/loading.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { ConditionTree, type TraceNode } from '../playground/condition-tree.tsx'
import { emptyQuestion } from '../playground/question.ts'
import { packed } from '../playground/share.ts'
import { EffectBadge } from '../policies/badges.tsx'
import { documentOf, textOf } from '../policies/document.ts'
import { useMay } from '../session/session.ts'
import { OutcomeBadge } from './outcome-badge.tsx'
import { texts } from './texts.ts'

const { page: words } = texts

const back = <BackLink to="/decisions">{words.back}</BackLink>

/** One decision: the question, why it was answered so, and the conditions with the values of that time. */
export function DecisionPage() {
  const { id = '' } = useParams({ strict: false })
  const query = useQuery({
    queryKey: ['decisions', 'one', id],
    queryFn: ({ signal }) => call('GET /decisions/{id}/explain/', { path: { id }, signal }),
  })
  if (query.data) return <Explained decision={query.data} />
  return <LoadingPage query={query} title={texts.title} width="text" actions={back} />
}

function Explained({ decision }: { decision: ExplainedDecision }) {
  const { action, kind, explanation, matched, shadow, obligations, at } = decision
  const traces = decision.trace as { policy_id: string; trace: TraceNode | null }[]
  const [summary, ...reasons] = explanation
  // The sentences about comparisons are shown as trees.
  const sentences = traces.some(({ trace }) => trace)
    ? reasons.filter((one) => !one.startsWith('"'))
    : reasons
  return (
    <Page
      title={asRequest(action)}
      width="text"
      about={
        <span className="line">
          <OutcomeBadge {...decision} />
          {kind !== 'request' && <Badge>{texts.question}</Badge>}
          <Time at={at} />
        </span>
      }
      actions={back}
    >
      <Card title={words.why}>
        <div className="card-body">
          <p className="summary">
            <bdi>{summary}</bdi>
          </p>
          <ul className="plain-list">
            {sentences.map((one) => (
              <li key={one}>
                <bdi>{one}</bdi>
              </li>
            ))}
          </ul>
        </div>
      </Card>
      {matched.length > 0 && (
        <Card title={words.policies}>
          <ul className="rows">
            {matched.map((one) => {
              const trace = traces.find(({ policy_id }) => policy_id === one.policy_id)?.trace
              return (
                <PolicyRow
                  key={one.policy_id}
                  policy={one}
                  remark={<EffectBadge effect={one.effect} />}
                  action={<TryOut decision={decision} policyId={one.policy_id} />}
                >
                  {trace && <ConditionTree node={trace} />}
                </PolicyRow>
              )
            })}
          </ul>
        </Card>
      )}
      {shadow.length > 0 && (
        <Card title={words.shadow}>
          <ul className="rows">
            {shadow.map((one) => (
              <PolicyRow
                key={one.policy_id}
                policy={one}
                remark={
                  <Badge tone={one.outcome.startsWith('would') ? 'warn' : undefined}>
                    {words.shadows[one.outcome]}
                  </Badge>
                }
              />
            ))}
          </ul>
        </Card>
      )}
      {obligations.length > 0 && (
        <Card title={words.obligations}>
          <div className="card-body">
            <pre className="json">{JSON.stringify(obligations, null, 2)}</pre>
          </div>
        </Card>
      )}
      <Card title={words.facts}>
        <div className="card-body">
          <Known decision={decision} />
        </div>
      </Card>
    </Page>
  )
}

function PolicyRow({
  policy,
  remark,
  action,
  children,
}: {
  policy: { policy_id: string; version: number; name: string }
  remark: ReactNode
  action?: ReactNode
  children?: ReactNode
}) {
  const may = useMay()
  return (
    <li>
      <span className="what">
        {may('policy:read') ? (
          <Link className="row-button" to="/policies/$id" params={{ id: policy.policy_id }}>
            <bdi>{policy.name}</bdi>
          </Link>
        ) : (
          <bdi>{policy.name}</bdi>
        )}{' '}
        <span className="muted small">{words.version(policy.version)}</span>
      </span>
      {remark}
      {action}
      {children && <div className="whole">{children}</div>}
    </li>
  )
}

/** Takes the question to the playground, to the policy as it is now. */
function TryOut({ decision, policyId }: { decision: ExplainedDecision; policyId: string }) {
  const may = useMay()
  const navigate = useNavigate()
  const { subject, action, resource, at } = decision
  if (!may('policy:test')) return null
  const open = async () => {
    const policy = await call('GET /policies/{id}/', { path: { id: policyId } })
    const question = {
      ...emptyQuestion,
      person: subject.id,
      action,
      type: resource.type,
      id: resource.id ?? '',
      time: at,
    }
    const hash = await packed({ policy: policyId, text: textOf(documentOf(policy)), question })
    void navigate({ to: '/playground', search: { policy: policyId } as never, hash })
  }
  return (
    <Button kind="quiet" icon="play" onClick={() => void open()}>
      {words.tryOut}
    </Button>
  )
}

function Known({ decision }: { decision: ExplainedDecision }) {
  const { id, subject, action, resource, at, request_id, policy_revision } = decision
  return (
    <Facts
      of={[
        [
          words.who,
          <>
            <bdi>{subject.email ?? subject.id}</bdi>{' '}
            <Link className="small" to="/decisions" search={{ subject_id: subject.id } as never}>
              {words.subject}
            </Link>
          </>,
        ],
        [words.what, <code>{action}</code>],
        [
          words.object,
          <>
            {resource.type.replaceAll('_', ' ')} {resource.id && <code>{resource.id}</code>}
          </>,
        ],
        [words.at, <Time at={at} form="exact" />],
        [words.id, <code>{id}</code>],
        [words.request, <code>{request_id}</code>],
        [words.revision, String(policy_revision)],
      ]}
    />
  )
}
