const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const formats = new Map<string, Intl.DateTimeFormat>()
const maxFormats = 1_000

/** The hour (0 to 23) and the weekday (1 = Monday to 7) at `now` (ms) in an IANA time zone; null for an unknown zone. */
export function localTime(now: number, zone: string): { hour: number; weekday: number } | null {
  if (zone === 'UTC') {
    const date = new Date(now)
    return { hour: date.getUTCHours(), weekday: date.getUTCDay() || 7 }
  }
  const parts = formatOf(zone)?.formatToParts(now)
  if (!parts) return null
  const part = (type: string) => parts.find((each) => each.type === type)?.value ?? ''
  return { hour: Number(part('hour')), weekday: weekdays.indexOf(part('weekday')) + 1 }
}

/** Whether a text names a time zone of the IANA database. An offset such as +01:00 is not a name. */
export const isTimeZone = (text: string): boolean => /^[A-Za-z]/.test(text) && formatOf(text) !== null

// Creating a format costs a hundred times as much as using it.
function formatOf(zone: string): Intl.DateTimeFormat | null {
  const known = formats.get(zone)
  if (known) return known
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hour: 'numeric',
      hourCycle: 'h23',
      weekday: 'short',
    })
    if (formats.size >= maxFormats) formats.clear()
    formats.set(zone, format)
    return format
  } catch {
    return null
  }
}
