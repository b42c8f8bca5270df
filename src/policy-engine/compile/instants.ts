const form = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/

/** The ms since the epoch of an RFC 3339 text, truncated to whole ms; undefined for anything else. */
export function instantOf(text: string): number | undefined {
  const match = form.exec(text)
  if (!match) return undefined
  const [, year, month, day, hour, minute, second] = match.map(Number) as number[]
  const wall = Date.UTC(year!, month! - 1, day!, hour!, minute!, second!)
  const date = new Date(wall).setUTCFullYear(year!, month! - 1, day!)
  const onCalendar = month! >= 1 && month! <= 12 && new Date(date).getUTCDate() === day
  const onClock =
    hour! < 24 && minute! < 60 && second! < 60 && !/[+-](2[4-9]|[3-9]\d|\d\d:[6-9])/.test(text.slice(19))
  return onCalendar && onClock ? date + fraction(match[7]) - offset(match) : undefined
}

const fraction = (digits = '') => Number(digits.padEnd(3, '0').slice(0, 3))

function offset([, , , , , , , , sign, hours = '0', minutes = '0']: string[]): number {
  const away = (Number(hours) * 60 + Number(minutes)) * 60_000
  return sign === '-' ? -away : away
}

const units = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }
const relative = /^now(?:([+-])(\d{1,6})([smhdw]))?$/

/** The offset from now, in ms, of a text like `now`, `now-24h` or `now+7d`; undefined for anything else. */
export function relativeInstantOf(text: string): number | undefined {
  const match = relative.exec(text)
  if (!match) return undefined
  const [, sign, amount = '0', unit = 's'] = match
  const away = Number(amount) * units[unit as keyof typeof units]
  return sign === '-' ? 0 - away : away
}
