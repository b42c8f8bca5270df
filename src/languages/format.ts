/** What a number of things is called, by its plural category (Unicode CLDR). */
type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }

// Formatters are made at each use: mails and pages need few, and those of a language take memory from the start.

/** How a language counts: `counting('en')(2, { one: 'passkey', other: 'passkeys' })` is “2 passkeys”. */
export const counting = (language: string) => (count: number, forms: Forms) => {
  const form = new Intl.PluralRules(language).select(count)
  return `${new Intl.NumberFormat(language).format(count)} ${forms[form] ?? forms.other}`
}

/** How a language joins words: “a, b and c”. */
export const joining = (language: string) => (words: readonly string[]) =>
  new Intl.ListFormat(language).format(words)

const units = [
  ['day', 1440],
  ['hour', 60],
  ['minute', 1],
] as const

/** How a language says for how long: `lasting('en')(120)` is “2 hours”. In minutes, in the largest unit that needs no fraction. */
export const lasting = (language: string) => (minutes: number) => {
  const [unit, size] = units.find(([, size]) => minutes % size === 0) ?? ['minute', 1]
  const format = new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' })
  return format.format(minutes / size)
}

/** A moment (ms since 1970) for a reader, with the name of the time zone: “22 November 2026 at 10:15 UTC”. */
export const formatMoment = (at: number, locale: string, timeZone = 'UTC'): string =>
  new Intl.DateTimeFormat(locale, {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
    timeZone,
    timeZoneName: 'short',
  }).format(at)
