import { useSyncExternalStore } from 'react'
import { useProfile } from '../session/session.ts'

/** What a person wrote and has not saved: it outlives a change of the page, and a sign-in in between. */
export interface Draft {
  text: string
  /** The version that it began with, for `If-Match`. */
  etag: string | null
}

const drafts = new Map<string, Draft>()
const listeners = new Set<() => void>()

addEventListener('beforeunload', (event) => drafts.size > 0 && event.preventDefault())

/** The draft of a policy, or of a new one for `new`. Only its author in this organisation gets it. */
export function useDraft(id: string): [Draft | undefined, (draft: Draft | null) => void] {
  const { id: me, current_tenant: here } = useProfile()
  const key = `${me} ${here.id} ${id}`
  const draft = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    () => drafts.get(key),
  )
  const set = (next: Draft | null) => {
    if (next) drafts.set(key, next)
    else drafts.delete(key)
    for (const listener of listeners) listener()
  }
  return [draft, set]
}
