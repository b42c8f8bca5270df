import t from 'tap'
import { proveAddress } from '../../helpers/prove-address.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { expect } from '../../tenancy/staff.ts'

const service = await sharedService(t)
const me = '/api/v1/users/me/'
const german = { 'accept-language': 'de-DE, de;q=0.9, en;q=0.5' }
const forget = (email: string, headers = {}) =>
  service.call('POST', '/api/v1/auth/password/reset/', { body: { email }, headers })

t.test('a person has a language and a time zone, or neither', async (t) => {
  const ada = await service.signUp()
  t.match(await ada.get(me), { body: { locale: null, zoneinfo: null } })
  const set = await expect(200, ada.patch(me, { locale: 'de-at', zoneinfo: 'Europe/Vienna' }))
  t.match(set, { locale: 'de-AT', zoneinfo: 'Europe/Vienna' })
  t.match(await ada.get(me), { body: { locale: 'de-AT', zoneinfo: 'Europe/Vienna' } })
  t.match(await expect(200, ada.patch(me, { first_name: 'Ada' })), { locale: 'de-AT', first_name: 'Ada' })
  const { results } = await expect(
    200,
    ada.get('/api/v1/audit-log/?action=profile:update&ordering=created_at'),
  )
  t.match(results[0].changes, {
    locale: { before: null, after: 'de-AT' },
    zoneinfo: { before: null, after: 'Europe/Vienna' },
  })
  t.match(await expect(200, ada.patch(me, { locale: null })), { locale: null, zoneinfo: 'Europe/Vienna' })
})

t.test('a language or a time zone that does not exist is refused by its name', async (t) => {
  const ada = await service.signUp()
  for (const [field, value] of [
    ['locale', 'de_DE'],
    ['locale', ''],
    ['locale', 'x'.repeat(36)],
    ['locale', 1],
    ['zoneinfo', 'Europe/Atlantis'],
    ['zoneinfo', '+01:00'],
    ['zoneinfo', ['UTC']],
  ] as const)
    t.match(
      await ada.patch(me, { [field]: value }),
      { status: 400, body: { errors: [{ field }] } },
      `${field} ${value}`,
    )
})

t.test(
  'a mail has the language and the time zone of its reader, not of the person who caused it',
  async (t) => {
    const ada = await service.signUp()
    const mail = await service.mailTo(ada.email, 'Confirm')
    t.match(mail, { text: / UTC\.\n/, html: /<html lang="en">/ })
    await expect(200, ada.patch(me, { locale: 'en-US', zoneinfo: 'America/New_York' }))
    await expect(200, forget(ada.email, german))
    t.match(await service.mailTo(ada.email, 'Reset'), { subject: 'Reset your Bailiwick password' })
    await expect(200, ada.patch(me, { locale: 'de', zoneinfo: 'Europe/Berlin' }))
    await expect(200, forget(ada.email))
    t.match(await service.mailTo(ada.email, 'zurücksetzen'), {
      subject: 'Passwort für Bailiwick zurücksetzen',
      text: /Der Link gilt/,
      html: /<html lang="de">/,
    })
  },
)

t.test('without a language of the reader, that of the request counts', async (t) => {
  const ada = await service.signUp()
  await expect(200, forget(ada.email, german))
  t.ok(await service.mailTo(ada.email, 'zurücksetzen'))
  const guest = `guest.${process.pid}@example.com`
  const path = `/api/v1/tenants/${ada.tenantId}/invitations/`
  await expect(201, ada.post(path, { email: guest, roles: ['member'] }, { headers: german }))
  await proveAddress(service, ada)
  await expect(200, ada.post('/api/v1/auth/logout-all/', {}, { headers: german }))
  t.ok(await service.mailTo(ada.email, 'Sitzungen'), 'also for a notice')
  t.match(await service.mailTo(guest, 'Einladung'), {
    subject: 'Einladung in eine Organisation bei Bailiwick',
  })
})
