import { useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { cursorOf } from '../parts/filters.ts'
import { useMay, useProfile } from '../session/session.ts'

interface ListPage<T> {
  results: T[]
  next: string | null
  count: number | null
}

/** Every row of a list, up to 20 pages of a hundred. */
export async function readAll<T>(read: (cursor: string | undefined) => Promise<ListPage<T>>) {
  const results: T[] = []
  let cursor: string | undefined
  let pages = 0
  do {
    const page = await read(cursor)
    results.push(...page.results)
    cursor = cursorOf(page.next)
  } while (cursor !== undefined && ++pages < 20)
  return { results, next: null, previous: null, count: results.length }
}

/** The roles of the organisation, for choices. */
export function useRoles() {
  const { id } = useProfile().current_tenant
  return useQuery({
    queryKey: ['roles', 'all', id],
    queryFn: ({ signal }) =>
      readAll((cursor) =>
        call('GET /tenants/{id}/roles/', { path: { id }, query: { page_size: 100, cursor }, signal }),
      ),
    enabled: useMay()('role:list'),
  })
}

/** The departments of the organisation, by name. */
export function useDepartments() {
  const { id } = useProfile().current_tenant
  return useQuery({
    queryKey: ['departments', 'all', id],
    queryFn: ({ signal }) =>
      readAll((cursor) => {
        const query = { page_size: 100, ordering: 'name', cursor }
        return call('GET /tenants/{id}/departments/', { path: { id }, query, signal })
      }),
    enabled: useMay()('department:list'),
  })
}
