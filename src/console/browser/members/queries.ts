import { useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { useMay, useProfile } from '../session/session.ts'

/** The first hundred roles of the organisation. */
export function useRoles() {
  const { id } = useProfile().current_tenant
  return useQuery({
    queryKey: ['roles', 'all'],
    queryFn: ({ signal }) =>
      call('GET /tenants/{id}/roles/', { path: { id }, query: { page_size: 100 }, signal }),
    enabled: useMay()('role:list'),
  })
}

/** The first hundred departments of the organisation. */
export function useDepartments() {
  const { id } = useProfile().current_tenant
  return useQuery({
    queryKey: ['departments', 'all'],
    queryFn: ({ signal }) =>
      call('GET /tenants/{id}/departments/', {
        path: { id },
        query: { page_size: 100, ordering: 'name' },
        signal,
      }),
    enabled: useMay()('department:list'),
  })
}
