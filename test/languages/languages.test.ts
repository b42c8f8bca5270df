import t from 'tap'
import { chooseLanguage, languages } from '../../src/languages/choose-language.ts'
import { en } from '../../src/languages/en.ts'
import { counting, formatMoment, joining, lasting } from '../../src/languages/format.ts'

const chosen = (...hints: Parameters<typeof chooseLanguage>) => chooseLanguage(...hints).code

t.test('the first hint that names one of our languages decides, else it is English', async (t) => {
  t.equal(chosen(), 'en')
  t.equal(chosen('fr', null, ''), 'en')
  t.equal(chosen('de'), 'de')
  t.equal(chosen(undefined, 'fr', 'de-AT', 'en'), 'de')
  t.equal(chosen('en', 'de'), 'en')
})

t.test('a longer tag finds the language that it begins with', async (t) => {
  for (const tag of ['de-DE', 'DE-at', 'de-Latn-CH-1996', 'de-x-private', 'de-DE-u-co-phonebk'])
    t.equal(chosen(tag), 'de', tag)
  for (const tag of ['deu', 'dead', 'x-de', '*', '-', 'de_DE', '*-de']) t.equal(chosen(tag, 'en'), 'en', tag)
})

t.test('ui_locales names several in order, Accept-Language by weight', async (t) => {
  t.equal(chosen('fr-CA de en'), 'de')
  t.equal(chosen('en;q=0.5, de-DE;q=0.8, fr'), 'de')
  t.equal(chosen('en, de'), 'en')
  t.equal(chosen('de ; q=0.1 , en ; q=0.9'), 'en')
  t.equal(chosen('de;q=0, fr'), 'en', 'a weight of 0 rules it out')
  t.equal(chosen('de;q=high, en;q=0.1'), 'en', 'what is no weight does not count')
})

/** The texts of a language by their path: a text, or the source of a function that writes one. */
function textsOf(value: unknown, path = ''): [string, string][] {
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, inner]) => textsOf(inner, `${path}.${key}`))
  return [[path, String(value)]]
}

/** Words that are the same in several languages. */
const international = new Set(['Code', 'optional'])

t.test('each language says each text in words of its own', async (t) => {
  const english = new Map(textsOf(en))
  for (const language of languages.filter(({ code }) => code !== 'en')) {
    const texts = textsOf(language)
    t.same(texts.map(([path]) => path).toSorted(), [...english.keys()].toSorted(), 'the same texts')
    const same = texts
      .filter(([path, text]) => english.get(path) === text && !international.has(text))
      .map(([path]) => path)
    t.same(same, [], `${language.code} repeats no English text`)
    t.notOk(
      texts.some(([, text]) => text.trim() === ''),
      'and leaves none empty',
    )
  }
})

t.test('numbers, lists, durations and moments have the form of the language', async (t) => {
  const forms = { one: 'Schlüssel', other: 'Schlüssel' }
  t.equal(counting('de')(1200, forms), '1.200 Schlüssel')
  t.equal(counting('en')(1, { one: 'key', other: 'keys' }), '1 key')
  t.equal(counting('en')(0, { one: 'key', other: 'keys' }), '0 keys')
  t.equal(joining('en-GB')(['a', 'b', 'c']), 'a, b and c')
  t.equal(joining('de')(['a', 'b', 'c']), 'a, b und c')
  t.equal(lasting('de')(7 * 1440), '7 Tage')
  t.equal(lasting('en')(60), '1 hour')
  t.equal(lasting('en')(90), '90 minutes')
  const at = Date.UTC(2026, 10, 22, 10, 15)
  t.equal(formatMoment(at, 'en-GB'), '22 November 2026 at 10:15 UTC')
  t.equal(formatMoment(at, 'de', 'Europe/Berlin'), '22. November 2026 um 11:15 MEZ')
  t.equal(formatMoment(at, 'en-US', 'America/New_York'), 'November 22, 2026 at 5:15 AM EST')
})
