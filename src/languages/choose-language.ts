import { de } from './de.ts'
import { en, type Texts } from './en.ts'

/** The languages of pages and mails. To add one: a file with its texts, and its name here. */
export const languages: readonly Texts[] = [en, de]

/**
 * The language for a reader, by the first hint that names one of {@link languages}; English if none does (lookup of RFC
 * 4647 §3.4). A hint is one BCP 47 tag, several with spaces between them (`ui_locales`), or an `Accept-Language`.
 */
export const chooseLanguage = (...hints: (string | null | undefined)[]): Texts =>
  hints.flatMap((hint) => rangesOf(hint ?? '').map(lookUp)).find((found) => found !== undefined) ?? en

/** The language ranges of a hint, in order of their weights (RFC 9110 §12.5.4). One with weight 0 is left out. */
const rangesOf = (hint: string): string[] =>
  hint
    .slice(0, longestHint)
    .toLowerCase()
    .replace(/\s*;\s*/g, ';')
    .split(/[\s,]+/)
    .map((part) => part.split(';q='))
    .map(([range = '', weight = '1']) => ({ range, weight: Number(weight) }))
    .filter(({ weight }) => weight > 0)
    .toSorted((a, b) => b.weight - a.weight)
    .map(({ range }) => range)

/** In characters: a client can send a header of many thousands. */
const longestHint = 200

/** The language of the longest prefix of a range: `de-at` finds `de`. */
function lookUp(range: string): Texts | undefined {
  const subtags = range.split('-')
  const prefixes = subtags.map((_, n) => subtags.slice(0, subtags.length - n).join('-'))
  return prefixes.map((prefix) => languages.find(({ code }) => code.toLowerCase() === prefix)).find(Boolean)
}
