import type { Profile } from '@bailiwick/client'
import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query'
import { useRef } from 'react'
import { onSessionProblem, prefix, request } from '../api/client.ts'
import { emptyStorage } from './storage.ts'

export type Method = 'totp' | 'email' | 'static' | 'passkey'

/** Whether the person is signed in: the answer of `/console/session/`. */
export interface Session {
  authenticated: boolean
  /** The sign-in, or the present organisation, waits for a second factor. */
  otp_required?: boolean
  methods?: Method[]
  /** Where the session can go on: its organisation requires its identity provider now. */
  url?: string
  user?: Profile
  /** A session ended that this page had begun with. */
  ended?: boolean
}

const key = ['session']
const channel = new BroadcastChannel('bailiwick')

export const sessionQuery = queryOptions({
  queryKey: key,
  queryFn: async ({ signal }) => (await request('GET /session/', { signal })) as Session,
  staleTime: 30_000,
})

/** The profile of the person who is signed in. For pages inside the frame only. */
export function useProfile(): Profile {
  const { data } = useQuery(sessionQuery)
  // A page can be drawn once more between the end of the session and the sign-in that takes its place.
  const last = useRef(data?.user)
  if (data?.user) last.current = data.user
  if (!last.current) throw new Error('There is no session')
  return last.current
}

/** Whether the person's roles hold a permission. The service decides; this only hides what it would refuse. */
export function useMay(): (permission: string) => boolean {
  const held = new Set(useProfile().permissions)
  return (permission) => held.has(permission)
}

/** Takes an answer about the session: after a sign-in, a switch, a sign-out. Other tabs follow. */
export async function renewSession(client: QueryClient): Promise<void> {
  channel.postMessage('changed')
  await restart(client)
}

/** Nothing of the session before may be shown in the next one. The query of the session stays: pages watch it. */
const forget = (client: QueryClient) =>
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== key[0] })

async function restart(client: QueryClient): Promise<void> {
  forget(client)
  await client.invalidateQueries({ queryKey: key })
}

const isSignedIn = async (client: QueryClient): Promise<boolean> =>
  (await client.fetchQuery({ ...sessionQuery, staleTime: 0 }).catch(() => null))?.authenticated === true

/** Follows what other tabs and the service say about the session. */
export function followSession(client: QueryClient): void {
  channel.onmessage = () => void restart(client)
  // This document comes from the sign-in: tabs that wait for a session go on, too.
  if (document.referrer.includes(`${prefix}/sign-in/`)) channel.postMessage('changed')
  onSessionProblem(async ({ code, members }) => {
    // A second factor replaces the cookie. A refusal of a request that left with the old one says nothing of the session.
    if (code === 'not_authenticated' && (await isSignedIn(client))) return void client.invalidateQueries()
    const waits = code === 'otp_required' && { otp_required: true, methods: members.methods as Method[] }
    client.setQueryData<Session>(key, { authenticated: false, ended: code !== 'otp_required', ...waits })
  })
  // A page from the browser's history shows the session in which it was left.
  addEventListener('pageshow', (event) => event.persisted && location.reload())
}

/** An address of the pages that sign in, from which they come back to the present one. */
export function comingBack(page: URL): URL {
  const { pathname, search, hash } = location
  const to = pathname.slice(`${prefix}/console`.length) + search + hash
  page.searchParams.set('return_to', `/console/enter/?${new URLSearchParams({ to })}`)
  return page
}

/** Goes to the pages of the service, which sign in, and come back. `url`: the page that the service names. */
export const goToSignIn = (url = `${prefix}/sign-in/`): void =>
  location.replace(comingBack(new URL(url, location.href)))

export async function signOut(client: QueryClient): Promise<void> {
  await request('DELETE /session/')
  emptyStorage()
  channel.postMessage('changed')
  forget(client)
  location.replace(`${prefix}/sign-in/signed-out/`)
}
