import type { CreatedWebhook } from '@bailiwick/client'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { OpenLink } from '../parts/links.tsx'
import { ListPage } from '../parts/list.tsx'
import { Notice } from '../parts/notice.tsx'
import { SecretDialog } from '../parts/secret-dialog.tsx'
import { Time } from '../parts/time.tsx'
import { useMay } from '../session/session.ts'
import { hostOf, StateBadge } from './state.tsx'
import { texts } from './texts.ts'
import { useThrottled } from './use-throttled.ts'
import { WebhookForm } from './webhook-form.tsx'

export function WebhooksPage() {
  const may = useMay()
  const navigate = useNavigate()
  const [creating, setCreating] = useState(false)
  const [created, setCreated] = useState<CreatedWebhook | null>(null)
  const throttled = useThrottled()
  const create = may('webhook:create') && (
    <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
      {texts.create}
    </Button>
  )
  const slowed = throttled && (
    <Notice tone="warn" icon="clock" title={texts.throttled.title}>
      <p>{texts.throttled.about}</p>
    </Notice>
  )
  return (
    <ListPage
      {...texts}
      name="webhooks"
      actions={create}
      head={slowed}
      empty={{ icon: 'send', ...texts.empty }}
      read={({ cursor }, signal) =>
        call('GET /webhooks/', { query: { page_size: 25, ordering: '-created_at', cursor }, signal })
      }
      row={(webhook) => (
        <tr>
          <td className="wide-cell">
            <Link className="row-button" to="/webhooks/$id" params={{ id: webhook.id }}>
              <bdi>{webhook.url}</bdi>
            </Link>
            <bdi className="muted small block">{webhook.description}</bdi>
          </td>
          <td className="muted">
            {webhook.event_types.length === 0 ? texts.all : texts.types(webhook.event_types.length)}
          </td>
          <td>
            <StateBadge webhook={webhook} />
          </td>
          <td className="muted" data-title={texts.columns[3]}>
            {webhook.last_success_at ? <Time at={webhook.last_success_at} /> : texts.never}
          </td>
          <td className="end">
            <OpenLink
              to="/webhooks/$id"
              params={{ id: webhook.id }}
              label={texts.open(hostOf(webhook.url))}
            />
          </td>
        </tr>
      )}
    >
      {creating && <WebhookForm onClose={() => setCreating(false)} onCreated={setCreated} />}
      {created && (
        <SecretDialog
          {...texts.secret}
          secret={created.secret}
          onDone={() => void navigate({ to: '/webhooks/$id', params: { id: created.id } })}
        />
      )}
    </ListPage>
  )
}
