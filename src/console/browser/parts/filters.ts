import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'

export type Filters = Partial<Record<string, string>>

/** The filters of a list. They are in the address, so that it can be shared, and a reload keeps them. */
export function useFilters(): [Filters, (change: Filters) => void] {
  const filters = useSearch({ strict: false }) as Filters
  const navigate = useNavigate()
  const change = (next: Filters) => {
    const all: Filters = { ...filters, cursor: undefined, ...next }
    const set = Object.entries(all).filter(([, value]) => value !== undefined && value !== '')
    void navigate({ to: '.', search: Object.fromEntries(set) as never, replace: true })
  }
  return [filters, change]
}

/** A text that follows the keyboard at once, and is applied when it rests. */
export function useTyped(applied: string, apply: (text: string) => void): [string, (text: string) => void] {
  const [typed, setTyped] = useState(applied)
  useEffect(() => {
    if (typed === applied) return
    const timer = setTimeout(() => apply(typed), 250)
    return () => clearTimeout(timer)
  })
  return [typed, setTyped]
}

/** The cursor in a list's link to its next or previous page. */
export const cursorOf = (link: string | null): string | undefined =>
  link === null ? undefined : (new URL(link, location.origin).searchParams.get('cursor') ?? undefined)
