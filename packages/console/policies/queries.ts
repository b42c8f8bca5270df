import { type QueryClient, useQuery } from '@tanstack/react-query'
import { callVersioned } from '../api/client.ts'
import { useProfile } from '../session/session.ts'

/** A policy with the version for `If-Match`. */
export function usePolicy(id: string | null) {
  const { id: tenant } = useProfile().current_tenant
  return useQuery({
    queryKey: ['policies', 'one', tenant, id],
    queryFn: ({ signal }) => callVersioned('GET /policies/{id}/', { path: { id: id ?? '' }, signal }),
    enabled: id !== null,
  })
}

export const reloadPolicies = (client: QueryClient) => client.invalidateQueries({ queryKey: ['policies'] })
