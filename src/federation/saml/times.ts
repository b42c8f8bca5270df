import { quoted, refuse } from './refusal.ts'
import type { XmlElement } from './xml.ts'

/** What clocks may differ by, in ms. */
export const maxSkewMs = 60_000
const form = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/** An attribute as Unix time in ms; null without it. Throws `RefusedError` for what is no time of a known zone. */
export function instantOf(element: XmlElement, attribute: string): number | null {
  if (!element.hasAttribute(attribute)) return null
  const text = element.getAttribute(attribute)
  const instant = form.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(instant))
    refuse('time_malformed', `${attribute} is ${quoted(text)}, which is no time in UTC.`)
  return instant
}

/** Checks `NotBefore` and `NotOnOrAfter` of an element. Gives when no check would accept it any more, as Unix time in ms. */
export function checkWindow(element: XmlElement, what: string, now: number): number {
  const from = instantOf(element, 'NotBefore')
  const end = (instantOf(element, 'NotOnOrAfter') ?? Number.POSITIVE_INFINITY) + maxSkewMs
  const clocks = `Here it is ${new Date(now).toISOString()}. Compare the clocks.`
  if (from !== null && now + maxSkewMs < from)
    refuse('not_yet_valid', `${what} is valid from ${new Date(from).toISOString()}. ${clocks}`)
  if (now >= end)
    refuse('expired', `${what} was valid until ${new Date(end - maxSkewMs).toISOString()}. ${clocks}`)
  return end
}
