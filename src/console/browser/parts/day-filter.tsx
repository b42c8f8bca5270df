const startOf = (day: string | undefined) => (day ? new Date(`${day}T00:00:00`).toISOString() : undefined)
const endOf = (day: string | undefined) => (day ? new Date(`${day}T23:59:59.999`).toISOString() : undefined)

/** The times of a list from the start of one day to the end of another, in the reader's zone. */
export const dayRange = (from: string | undefined, to: string | undefined) => ({
  created_at__gte: startOf(from),
  created_at__lte: endOf(to),
})

/** A filter of a list: a day at which it begins or ends. */
export function DayFilter({
  label,
  value,
  onChange,
}: {
  label: string
  value: string | undefined
  onChange: (day: string) => void
}) {
  return (
    <input
      type="date"
      className="input"
      aria-label={label}
      title={label}
      value={value ?? ''}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}
