import { useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { useMay, useProfile } from '../session/session.ts'

/** Whether deliveries of webhooks were dropped today, because the organisation's limit was reached. */
export function useThrottled(): boolean {
  const { id } = useProfile().current_tenant
  const midnight = `${new Date().toISOString().slice(0, 10)}T00:00:00Z`
  const { data } = useQuery({
    queryKey: ['audit', id, 'throttled', midnight],
    queryFn: ({ signal }) =>
      call('GET /audit-log/', {
        query: { page_size: 1, action: 'webhook:throttle', created_at__gte: midnight },
        signal,
      }),
    enabled: useMay()('audit:list'),
  })
  return (data?.results.length ?? 0) > 0
}
