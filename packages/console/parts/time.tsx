const steps = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'long' })
const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium' })

function inWords(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1_000)
  const [unit, size] = steps.find(([, size]) => Math.abs(seconds) >= size) ?? ['second', 1]
  return Math.abs(seconds) < 45 ? 'just now' : relative.format(Math.round(seconds / size), unit)
}

/** A time as people say it, in the reader's zone; the exact one is shown on hover. */
export function Time({ at, form = 'relative' }: { at: string; form?: 'relative' | 'day' | 'exact' }) {
  const date = new Date(at)
  const words = {
    relative: () => inWords(date.getTime(), Date.now()),
    day: () => day.format(date),
    exact: () => exact.format(date),
  }
  return (
    <time dateTime={at} title={exact.format(date)}>
      {words[form]()}
    </time>
  )
}
