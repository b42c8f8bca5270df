import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { Webhook } from '../../../client/api-types.ts'
import { call } from '../api/client.ts'
import { asProblem } from '../api/problem.ts'
import { Badge } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { Failed, Ghosts, Notice } from '../parts/notice.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Time } from '../parts/time.tsx'
import { useProfile } from '../session/session.ts'
import { Deliveries } from './deliveries.tsx'
import { hostOf, StateBadge, stateOf } from './state.tsx'
import { texts } from './texts.ts'
import { useWebhookActions } from './webhook-actions.tsx'

/** Where a webhook stands, what can be done with it, and what was delivered. */
export function WebhookPage() {
  const { id = '' } = useParams({ strict: false })
  const { id: tenant } = useProfile().current_tenant
  const query = useQuery({
    queryKey: ['webhooks', tenant, 'one', id],
    queryFn: ({ signal }) => call('GET /webhooks/{id}/', { path: { id }, signal }),
  })
  if (query.data) return <One webhook={query.data} />
  return (
    <Page title={texts.title} actions={<Back />}>
      <Card>
        {query.isError ? (
          <Failed problem={asProblem(query.error)} retry={() => void query.refetch()} />
        ) : (
          <Ghosts />
        )}
      </Card>
    </Page>
  )
}

const Back = () => (
  <Link className="button" data-kind="quiet" to="/webhooks">
    <Icon name="back" />
    {texts.back}
  </Link>
)

function One({ webhook }: { webhook: Webhook }) {
  const { buttons, enable, dialogs } = useWebhookActions(webhook)
  return (
    <Page
      title={hostOf(webhook.url)}
      about={<StateBadge webhook={webhook} />}
      actions={
        <>
          <Back />
          {buttons}
        </>
      }
    >
      <Warning webhook={webhook} action={enable} />
      <Card>
        <div className="card-body">
          <Facts webhook={webhook} />
        </div>
      </Card>
      <Deliveries webhook={webhook} />
      {dialogs}
    </Page>
  )
}

/** Why nothing is sent, or why that may happen soon, with the way back. */
function Warning({ webhook, action }: { webhook: Webhook; action: React.ReactNode }) {
  const state = stateOf(webhook)
  if (webhook.managed_by !== null) return <Notice icon="lock">{texts.managed(webhook.managed_by)}</Notice>
  if (state === 'active') return null
  const words = state === 'disabled' ? texts.disabled[webhook.disabled_reason ?? 'failing'] : texts[state]
  return (
    <Notice tone={state === 'disabled' ? 'danger' : 'warn'} title={words.title}>
      <p>{words.about}</p>
      {state !== 'failing' && <div className="line notice-action">{action}</div>}
    </Notice>
  )
}

function Facts({ webhook }: { webhook: Webhook }) {
  const { facts: words } = texts
  return (
    <dl className="facts">
      <dt>{words.address}</dt>
      <dd>
        <bdi>{webhook.url}</bdi>
      </dd>
      {webhook.description && (
        <>
          <dt>{words.description}</dt>
          <dd>
            <bdi>{webhook.description}</bdi>
          </dd>
        </>
      )}
      <dt>{words.events}</dt>
      <dd className="line">
        {webhook.event_types.length === 0
          ? texts.all
          : webhook.event_types.map((type) => <Badge key={type}>{type}</Badge>)}
      </dd>
      <dt>{words.created}</dt>
      <dd>
        <Time at={webhook.created_at} />
      </dd>
      {(['success', 'failure'] as const).map((end) => {
        const at = webhook[`last_${end}_at`]
        return [
          <dt key={end}>{words[end]}</dt>,
          <dd key={`${end}-at`}>{at ? <Time at={at} /> : texts.never}</dd>,
        ]
      })}
    </dl>
  )
}
