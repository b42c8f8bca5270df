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

const firstIn = (names: [RegExp, string][], text: string): string | undefined =>
  names.find(([pattern]) => pattern.test(text))?.[1]

/**
 * Names a client in our words, by its `User-Agent`: “Firefox on Linux”, or “an unknown program”. The client
 * writes that header, so none of its text may reach a mail. A name that this function returned gives the same name.
 */
export function nameOfClient(userAgent: string): string {
  const [browser, system] = [firstIn(browsers, userAgent), firstIn(systems, userAgent)]
  if (browser && system) return `${browser} on ${system}`
  return browser ?? (system ? `a program on ${system}` : 'an unknown program')
}

/** Variable of mails: a client, by its `User-Agent`. */
export const client = z.string().transform(nameOfClient)
