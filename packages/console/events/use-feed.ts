import type { Event } from '@bailiwick/client'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { call } from '../api/client.ts'
import { useProfile } from '../session/session.ts'

const pageSize = 50
/** Beyond it the oldest are let go, so that a page that is open for days stays quick. */
const most = 2_000
const everyMs = 2_000

const sequenceOf = ({ sequence }: Event) => sequence ?? 0

/** Where the page before a page of events begins. */
function startOf(previous: string | null): number | undefined {
  const after = previous && new URL(previous, location.origin).searchParams.get('after')
  return after ? Number(after) : undefined
}

/** The events of the organisation, newest first. While `live`, new ones come by themselves; older ones on demand. */
export function useFeed(live: boolean) {
  const { id: tenant } = useProfile().current_tenant
  const [newer, setNewer] = useState<Event[]>([])
  const last = useRef(0)
  const known = useInfiniteQuery({
    queryKey: ['events', tenant, 'known'],
    queryFn: async ({ pageParam, signal }) => {
      const where = pageParam === undefined ? { newest: true } : { after: pageParam }
      const page = await call('GET /events/', { query: { ...where, page_size: pageSize }, signal })
      if (pageParam === undefined) last.current = Math.max(0, ...page.results.map(sequenceOf))
      return page
    },
    initialPageParam: undefined as number | undefined,
    getNextPageParam: ({ previous }) => startOf(previous),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  const tail = useQuery({
    queryKey: ['events', tenant, 'tail'],
    queryFn: async ({ signal }) => {
      const { results } = await call('GET /events/', {
        query: { after: last.current, page_size: 100 },
        signal,
      })
      const fresh = results.filter((event) => sequenceOf(event) > last.current)
      last.current = Math.max(last.current, ...fresh.map(sequenceOf))
      if (fresh.length > 0) setNewer((before) => [...fresh.toReversed(), ...before].slice(0, most))
      return last.current
    },
    enabled: live && known.isSuccess,
    refetchInterval: everyMs,
    gcTime: 0,
  })
  // A page's events ascend. The first page can be shorter than its size, so pages may overlap.
  const older = (known.data?.pages ?? []).flatMap(({ results }) => results.toReversed())
  const events = [...new Map([...newer, ...older].map((event) => [event.id, event])).values()]
  return { events, known, isBehind: live && tail.isError }
}
