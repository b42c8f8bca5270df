import type { Webhook } from '@bailiwick/client'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { call } from '../api/client.ts'
import { Badges } from '../parts/button.tsx'
import { Facts } from '../parts/facts.tsx'
import { BackLink } from '../parts/links.tsx'
import { LoadingPage } from '../parts/loading.tsx'
import { Notice } from '../parts/notice.tsx'
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
  return <LoadingPage query={query} title={texts.title} actions={back} />
}

const back = <BackLink to="/webhooks">{texts.back}</BackLink>

function One({ webhook }: { webhook: Webhook }) {
  const { buttons, enable, dialogs } = useWebhookActions(webhook)
  return (
    <Page
      title={hostOf(webhook.url)}
      about={<StateBadge webhook={webhook} />}
      actions={
        <>
          {back}
          {buttons}
        </>
      }
    >
      <Warning webhook={webhook} action={enable} />
      <Card>
        <div className="card-body">
          <Known webhook={webhook} />
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

const timeOf = (at: string | null) => (at ? <Time at={at} /> : texts.never)

function Known({ webhook }: { webhook: Webhook }) {
  const { facts: words } = texts
  return (
    <Facts
      of={[
        [words.address, <bdi>{webhook.url}</bdi>],
        [words.description, webhook.description && <bdi>{webhook.description}</bdi>],
        [words.events, webhook.event_types.length === 0 ? texts.all : <Badges of={webhook.event_types} />],
        [words.created, <Time at={webhook.created_at} />],
        [words.success, timeOf(webhook.last_success_at)],
        [words.failure, timeOf(webhook.last_failure_at)],
      ]}
    />
  )
}
