import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { call } from '../api/client.ts'
import { Icon, type IconName } from '../parts/icon.tsx'
import { Empty, Ghosts } from '../parts/notice.tsx'
import { Card } from '../parts/page.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { hostOf, stateOf } from '../webhooks/state.tsx'
import { useThrottled } from '../webhooks/use-throttled.ts'
import { texts } from './texts.ts'

const { waits: words } = texts

interface Item {
  id: string
  tone: 'danger' | 'warn' | 'accent'
  icon: IconName
  title: string
  about: string
  to: string
  params?: Record<string, string>
  search?: Record<string, string>
}

/** What needs a person: approvals, what is broken, and what is risky. The most urgent first. */
export function Waiting() {
  const { items, isPending } = useItems()
  return (
    <Card title={words.title}>
      {isPending && <Ghosts rows={2} />}
      {!isPending && items.length === 0 && (
        <Empty icon="check" title={words.none.title}>
          {words.none.about}
        </Empty>
      )}
      <ul className="rows">
        {items.map(({ id, tone, icon, title, about, ...target }) => (
          <li key={id}>
            <span className="rows-icon" data-tone={tone}>
              <Icon name={icon} />
            </span>
            <div className="what">
              <p>
                <bdi>{title}</bdi>
              </p>
              <p className="muted small">{about}</p>
            </div>
            <Link
              className="button"
              {...(target as { to: '/members' })}
              aria-label={`${words.open}: ${title}`}
            >
              {words.open}
            </Link>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function useItems() {
  const profile = useProfile()
  const { id, status } = profile.current_tenant
  const may = useMay()
  const approvals = useQuery({
    queryKey: ['approvals', id, 'waiting'],
    queryFn: ({ signal }) => call('GET /approval-requests/pending/', { query: { page_size: 1 }, signal }),
    refetchInterval: 60_000,
  })
  const webhooks = useQuery({
    queryKey: ['webhooks', id, 'health'],
    queryFn: ({ signal }) => call('GET /webhooks/', { query: { page_size: 100 }, signal }),
    enabled: may('webhook:list'),
  })
  const throttled = useThrottled()
  const tenant = useQuery({
    queryKey: ['tenant', id],
    queryFn: ({ signal }) => call('GET /tenants/{id}/', { path: { id }, signal }),
    enabled: may('tenant:update'),
  })
  const owners = useQuery({
    queryKey: ['members', id, 'owners'],
    queryFn: ({ signal }) =>
      call('GET /tenants/{id}/members/', {
        path: { id },
        query: { page_size: 2, role: 'owner', status: 'active' },
        signal,
      }),
    enabled: may('member:update'),
  })
  const expired = useQuery({
    queryKey: ['invitations', id, 'expired'],
    queryFn: ({ signal }) =>
      call('GET /tenants/{id}/invitations/', {
        path: { id },
        query: { page_size: 1, status: 'expired' },
        signal,
      }),
    enabled: may('invitation:create'),
  })

  const items: Item[] = []
  if (status !== 'active')
    items.push({
      id: 'closed',
      tone: 'danger',
      icon: 'lock',
      title: words.closed[status],
      about: words.closedAbout,
      to: '/organisation',
    })
  const asked = approvals.data?.count ?? approvals.data?.results.length ?? 0
  if (asked > 0)
    items.push({
      id: 'approvals',
      tone: 'accent',
      icon: 'approve',
      title: words.approvals(asked),
      about: words.approvalsAbout,
      to: '/approvals',
    })
  for (const webhook of webhooks.data?.results ?? []) {
    const state = stateOf(webhook)
    if (state === 'failing' || state === 'disabled')
      items.push({
        id: webhook.id,
        tone: state === 'disabled' ? 'danger' : 'warn',
        icon: 'send',
        title: words.webhook(hostOf(webhook.url)),
        about: words[state],
        to: '/webhooks/$id',
        params: { id: webhook.id },
      })
  }
  if (throttled)
    items.push({
      id: 'throttled',
      tone: 'warn',
      icon: 'clock',
      title: words.throttled,
      about: words.throttledAbout,
      to: '/webhooks',
    })
  if ((expired.data?.count ?? 0) > 0)
    items.push({
      id: 'expired',
      tone: 'warn',
      icon: 'mail',
      title: words.expired(expired.data?.count ?? 0),
      about: words.expiredAbout,
      to: '/invitations',
      search: { status: 'expired' },
    })
  if (!profile.mfa_enabled && may('member:update'))
    items.push({
      id: 'factor',
      tone: 'warn',
      icon: 'shield',
      title: words.noFactor,
      about: words.noFactorAbout,
      to: '/account/security',
    })
  if (owners.data && owners.data.results.length === 1 && (tenant.data?.member_count ?? 0) > 1)
    items.push({
      id: 'owner',
      tone: 'warn',
      icon: 'key',
      title: words.oneOwner,
      about: words.oneOwnerAbout,
      to: '/members',
      search: { role: 'owner' },
    })
  if (tenant.data && !tenant.data.settings.require_mfa && profile.mfa_enabled)
    items.push({
      id: 'mfa',
      tone: 'accent',
      icon: 'shield',
      title: words.mfaOff,
      about: words.mfaOffAbout,
      to: '/organisation',
    })
  return { items, isPending: approvals.isPending }
}
