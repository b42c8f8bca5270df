import t from 'tap'
import { languages } from '../../../src/languages/choose-language.ts'
import type { Texts } from '../../../src/languages/en.ts'
import { stationeryFor } from '../../../src/messages/mail/stationery.ts'
import { summaryOf, type TemplateName, writeLetter } from '../../../src/messages/mail/templates.ts'
import { actions } from '../../../src/policy-engine/catalogue/actions.ts'
import { samples } from './sample-letters.ts'

const config = { OTP_TOTP_ISSUER_NAME: 'Acme', DEFAULT_LANGUAGE: 'en' } as const
const english = stationeryFor(config)
const stationeries = languages.map(({ code }) => stationeryFor(config, { locale: code }))
const names = Object.keys(samples) as TemplateName[]

/** The words of an HTML mail, as its reader sees them. */
const wordsOf = (html: string) => html.replace(/<(style|title)>.*?<\/\1>/gs, '').replace(/<[^>]*>/g, '\n')

t.test('each mail is complete in each language, in text and in HTML', async (t) => {
  for (const stationery of stationeries)
    for (const name of names) {
      const { subject, text, html } = writeLetter(name, samples[name], stationery)
      const what = `${name} in ${stationery.texts.code}`
      t.notMatch(`${subject}${text}${html}`, /undefined|null|\[object|NaN|\$\{|Invalid/, what)
      t.match(html, `<html lang="${stationery.texts.code}">`)
      t.ok(subject.length <= 90, `the subject of ${what} fits: ${subject}`)
      t.ok(Buffer.byteLength(html) <= 30_000, `${what} has ${Buffer.byteLength(html)} bytes`)
      t.notMatch(
        html,
        /<(script|link|iframe|form)\b|\bsrc=|url\(|@import|javascript:/,
        `${what} loads nothing`,
      )
      for (const value of Object.values(samples[name]).filter((value) =>
        /^https:|^\d{6}$/.test(String(value)),
      )) {
        t.ok(text.split('\n').includes(String(value)), `${what}: link or code on its own line of the text`)
        t.ok(html.split('\n').includes(String(value)), 'and of the HTML')
      }
    }
})

t.test('the languages say the same: each mail has the same parts in each', async (t) => {
  const shape = (html: string) => [...html.matchAll(/<(table|h1|th|a)\b/g)].map(([, tag]) => tag).join(' ')
  for (const name of names) {
    const [first, ...others] = stationeries.map((stationery) => writeLetter(name, samples[name], stationery))
    for (const other of others) {
      t.equal(shape(other.html), shape(first!.html), name)
      t.not(other.subject, first!.subject)
    }
  }
})

/** The texts without any letter: what stays in a mail is no text of the catalogue. */
function withoutLetters<T>(value: T): T {
  if (typeof value === 'string') return value.replace(/\p{L}/gu, '·') as T
  if (typeof value === 'function')
    return ((...given: unknown[]) =>
      withoutLetters((value as (...given: unknown[]) => unknown)(...given))) as T
  if (Array.isArray(value)) return value.map(withoutLetters) as T
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutLetters(inner)])) as T
  return value
}

t.test('no word of a mail stands outside the catalogue', async (t) => {
  const texts: Texts = { ...withoutLetters(english.texts), code: 'en' }
  const stationery = { ...english, texts, brand: { ...english.brand, name: '·' } }
  for (const name of names) {
    const { subject, text, html } = writeLetter(name, samples[name], stationery)
    const shown = `${subject}\n${text}\n${wordsOf(html)}`.replace(/https:\S+|&\w+;/g, '')
    t.notMatch(shown, /\p{L}/u, name)
  }
})

t.test('mails that earlier releases queued are still written', async (t) => {
  const link = 'https://id.acme.example/page?token=abc'
  const queued: [TemplateName, unknown, RegExp][] = [
    ['email_verification', { link, firstName: 'Ada' }, /Confirm this address:\nhttps/],
    ['password_reset', { link, firstName: 'Ada' }, /The link works once\. /],
    [
      'invitation',
      { link, tenantName: 'Firm', inviter: 'Lena', message: '' },
      /^Lena invites you to “Firm”\./m,
    ],
    ['added_to_tenant', { tenantName: 'Firm' }, /^An administrator made you a member of “Firm”\./m],
    ['password_changed', { firstName: '' }, /your other sessions were ended\.\n/],
    ['password_cleared', { firstName: 'Ada' }, /was created|have created/],
    [
      'account_cleared',
      { firstName: '', hasPassword: true, tenants: [], others: 0 },
      /a link to reset the password/,
    ],
    ['email_change_undone', { firstName: '', email: 'a@b.test' }, /is a@b\.test again/],
    [
      'second_factor_added',
      { device: 'totp', firstName: '', undo: link },
      /Remove the second factor:\nhttps/,
    ],
    ['api_key_created', { keyName: 'K', tenantName: 'Firm', firstName: '' }, /“K” was created\./],
    [
      'new_sign_in',
      { ip: '::1', device: 'Firefox on Linux', at: '2026-11-24T15:14:38.385Z' },
      /When: 24 November 2026 at 15:14 UTC\nBrowser: Firefox\nSystem: Linux\n/,
    ],
    [
      'new_sign_in',
      { ip: '::1', device: 'an unknown program', at: '2026-11-24T15:14:38.385Z' },
      /unknown program/,
    ],
    [
      'approval_requested',
      {
        requester: 'Ada',
        action: 'ship:sink',
        tenantName: 'Firm',
        link,
        expiresAt: '2026-11-24T15:14:38.385Z',
      },
      /Action: ship:sink\nExpires: 24 November 2026 at 15:14 UTC\n/,
    ],
    [
      'approval_decided',
      { outcome: 'failed', action: 'role:update', tenantName: 'Firm', link },
      /but failed\./,
    ],
  ]
  for (const [name, variables, expected] of queued)
    t.match(writeLetter(name, variables, english).text, expected, name)
})

t.test('a mail has the language, the form of dates and the time zone of its reader', async (t) => {
  const signIn = (recipient: Parameters<typeof stationeryFor>[1]) =>
    writeLetter('new_sign_in', samples.new_sign_in, stationeryFor(config, recipient)).text
  t.match(signIn({ locale: 'de-AT', zoneinfo: 'Europe/Vienna' }), '24. November 2026 um 16:14 MEZ')
  t.match(signIn({ locale: 'en-US', zoneinfo: 'America/New_York' }), 'November 24, 2026 at 10:14 AM EST')
  t.match(signIn({ locale: 'fr', languages: 'de;q=0.9, en;q=0.1' }), '24. November 2026 um 15:14 UTC')
  t.match(signIn({}), '24 November 2026 at 15:14 UTC')
  const german = stationeryFor({ ...config, DEFAULT_LANGUAGE: 'de' })
  t.match(writeLetter('new_sign_in', samples.new_sign_in, german).text, '24. November 2026 um 15:14 UTC')
})

t.test('the brand of a mail is its name, its logo and the colour of its button', async (t) => {
  const logo = { url: 'https://id.acme.example/logo.png', width: 300, height: 30 }
  const links = [{ to: 'privacy' as const, url: 'https://nord.example/privacy' }]
  const brand = { name: 'Nord & Wind', logo, accent: '#7a1f5c', links }
  const { html } = writeLetter('password_reset', samples.password_reset, { ...english, brand })
  t.match(
    html,
    '<img class="logo ink" src="https://id.acme.example/logo.png" alt="Nord &amp; Wind" width="240" height="24"',
  )
  t.match(html, 'background:#7a1f5c')
  t.match(html, '<a href="https://nord.example/privacy"')
  t.match(writeLetter('password_reset', samples.password_reset, english).html, />Acme<\/td>/)
})

t.test('a summary counts in the language of its reader', async (t) => {
  for (const stationery of stationeries) {
    const first = writeLetter('new_sign_in', samples.new_sign_in, stationery)
    const { subject, text } = summaryOf(stationery, first, 12)
    t.match(subject, first.subject)
    t.match(text, /\b12\b/)
  }
})

t.test('each action that can require an approval has its words', async (t) => {
  const gated = Object.entries(actions).filter(([, { gate }]) => gate)
  t.same(Object.keys(english.texts.actions).toSorted(), gated.map(([name]) => name).toSorted())
})
