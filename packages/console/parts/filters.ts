import { useNavigate, useSearch } from '@tanstack/react-router'

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

/** The cursor in a list's link to its next or previous page. */
export const cursorOf = (link: string | null): string | undefined =>
  link === null ? undefined : (new URL(link, location.origin).searchParams.get('cursor') ?? undefined)

const startOf = (day: string | undefined) => (day ? new Date(`${day}T00:00:00`).toISOString() : undefined)
const endOf = (day: string | undefined) => (day ? new Date(`${day}T23:59:59.999`).toISOString() : undefined)

/** The times of a list from the start of one day to the end of another, in the reader's zone. */
export const dayRange = (from: string | undefined, to: string | undefined) => ({
  created_at__gte: startOf(from),
  created_at__lte: endOf(to),
})
