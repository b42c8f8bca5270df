import { z } from 'zod'

// In this order, because a browser also names those that it is compatible with.
const browsers: [RegExp, string][] = [
  [/\bEdg/, 'Edge'],
  [/\bOPR\/|\bOpera\b/, 'Opera'],
  [/\bSamsung ?(Browser|Internet)\b/, 'Samsung Internet'],
  [/\bFirefox\b|\bFxiOS\//, 'Firefox'],
  [/\bChrom(e|ium)\b|\bCriOS\//, 'Chrome'],
  [/\bSafari\b/, 'Safari'],
]
const systems: [RegExp, string][] = [
  [/\bAndroid\b/, 'Android'],
  [/\biPhone\b|\biOS\b/, 'iOS'],
  [/\biPad\b|\biPadOS\b/, 'iPadOS'],
  [/\bCrOS\b|\bChromeOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bmacOS\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

const firstIn = (names: [RegExp, string][], text: string): string | null =>
  names.find(([pattern]) => pattern.test(text))?.[1] ?? null

/** A client, as a mail names it: names of ours, null for what is not known. */
export interface ClientName {
  browser: string | null
  system: string | null
}

/** Names a client by its `User-Agent`. The client writes that header, so none of its text may reach a mail. */
export const nameOfClient = (userAgent: string): ClientName => ({
  browser: firstIn(browsers, userAgent),
  system: firstIn(systems, userAgent),
})

const oneOf = (names: [RegExp, string][]) => z.enum(names.map(([, name]) => name)).nullable()

/** Variable of mails: a client. Mails that 0.2 queued have it as text, such as “Firefox on Linux”. */
export const client = z.union([
  z.strictObject({ browser: oneOf(browsers), system: oneOf(systems) }),
  z.string().transform(nameOfClient),
])
