import { useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import type { IconName } from '../parts/icon.tsx'
import { useMay, useProfile } from '../session/session.ts'
import { hostOf, stateOf } from '../webhooks/state.tsx'
import { useThrottled } from '../webhooks/use-throttled.ts'
import { texts } from './texts.ts'

const { waits: words } = texts

/** Something that needs a person, and the page where they act. */
export interface Item {
  id: string
  tone: 'danger' | 'warn' | 'accent'
  icon: IconName
  title: string
  about: string
  to: string
  params?: Record<string, string>
  search?: Record<string, string>
}

/** What needs the person, the most urgent first. */
export function useItems(): { items: Item[]; isPending: boolean } {
  const approvals = useApprovals()
  const items = [
    ...useClosed(),
    ...approvals.items,
    ...useWebhooks(),
    ...useExpired(),
    ...useOwnFactor(),
    ...useOrganisation(),
  ]
  return { items, isPending: approvals.isPending }
}

function useClosed(): Item[] {
  const { status } = useProfile().current_tenant
  if (status === 'active') return []
  return [
    {
      id: 'closed',
      tone: 'danger',
      icon: 'lock',
      title: words.closed[status],
      about: words.closedAbout,
      to: '/organisation',
    },
  ]
}

function useApprovals(): { items: Item[]; isPending: boolean } {
  const { id } = useProfile().current_tenant
  const { data, isPending } = useQuery({
    queryKey: ['approvals', id, 'waiting'],
    queryFn: ({ signal }) => call('GET /approval-requests/pending/', { query: { page_size: 1 }, signal }),
    refetchInterval: 60_000,
  })
  const count = data?.count ?? data?.results.length ?? 0
  const item: Item = {
    id: 'approvals',
    tone: 'accent',
    icon: 'approve',
    title: words.approvals(count),
    about: words.approvalsAbout,
    to: '/approvals',
  }
  return { items: count > 0 ? [item] : [], isPending }
}

/** Webhooks that fail or are disabled, and the limit of deliveries. */
function useWebhooks(): Item[] {
  const { id } = useProfile().current_tenant
  const { data } = useQuery({
    queryKey: ['webhooks', id, 'health'],
    queryFn: ({ signal }) => call('GET /webhooks/', { query: { page_size: 100 }, signal }),
    enabled: useMay()('webhook:list'),
  })
  const throttled: Item = {
    id: 'throttled',
    tone: 'warn',
    icon: 'clock',
    title: words.throttled,
    about: words.throttledAbout,
    to: '/webhooks',
  }
  const broken = (data?.results ?? []).flatMap((webhook): Item[] => {
    const state = stateOf(webhook)
    if (state !== 'failing' && state !== 'disabled') return []
    return [
      {
        id: webhook.id,
        tone: state === 'disabled' ? 'danger' : 'warn',
        icon: 'send',
        title: words.webhook(hostOf(webhook.url)),
        about: words[state],
        to: '/webhooks/$id',
        params: { id: webhook.id },
      },
    ]
  })
  return useThrottled() ? [...broken, throttled] : broken
}

function useExpired(): Item[] {
  const { id } = useProfile().current_tenant
  const { data } = useQuery({
    queryKey: ['invitations', id, 'expired'],
    queryFn: ({ signal }) =>
      call('GET /tenants/{id}/invitations/', {
        path: { id },
        query: { page_size: 1, status: 'expired' },
        signal,
      }),
    enabled: useMay()('invitation:create'),
  })
  const count = data?.count ?? 0
  if (count === 0) return []
  return [
    {
      id: 'expired',
      tone: 'warn',
      icon: 'mail',
      title: words.expired(count),
      about: words.expiredAbout,
      to: '/invitations',
      search: { status: 'expired' },
    },
  ]
}

function useOwnFactor(): Item[] {
  const { mfa_enabled: hasFactor } = useProfile()
  const manages = useMay()('member:update')
  if (hasFactor || !manages) return []
  return [
    {
      id: 'factor',
      tone: 'warn',
      icon: 'shield',
      title: words.noFactor,
      about: words.noFactorAbout,
      to: '/account/security',
    },
  ]
}

/** Risks of the organisation: a single owner, and entering without a second factor. */
function useOrganisation(): Item[] {
  const { mfa_enabled: hasFactor, current_tenant: here } = useProfile()
  const { id } = here
  const may = useMay()
  const tenant = useQuery({
    queryKey: ['tenant', id],
    queryFn: ({ signal }) => call('GET /tenants/{id}/', { path: { id }, signal }),
    enabled: may('tenant:update'),
  }).data
  const owners = useQuery({
    queryKey: ['members', id, 'owners'],
    queryFn: ({ signal }) =>
      call('GET /tenants/{id}/members/', {
        path: { id },
        query: { page_size: 2, role: 'owner', status: 'active' },
        signal,
      }),
    enabled: may('member:update'),
  }).data
  const items: Item[] = []
  if (owners?.results.length === 1 && (tenant?.member_count ?? 0) > 1)
    items.push({
      id: 'owner',
      tone: 'warn',
      icon: 'key',
      title: words.oneOwner,
      about: words.oneOwnerAbout,
      to: '/members',
      search: { role: 'owner' },
    })
  if (tenant && !tenant.settings.require_mfa && hasFactor)
    items.push({
      id: 'mfa',
      tone: 'accent',
      icon: 'shield',
      title: words.mfaOff,
      about: words.mfaOffAbout,
      to: '/organisation',
    })
  return items
}
