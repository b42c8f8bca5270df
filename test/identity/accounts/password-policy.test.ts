import { dictionary } from '@zxcvbn-ts/language-common'
import t from 'tap'
import { refuseWeakPassword } from '../../../src/identity/auth/password-policy.ts'
import { chosenPassword } from '../../../src/identity/person.ts'
import { startService } from '../../helpers/service.ts'

const ada = { email: 'ada.lovelace@example.com', firstName: 'Augusta Ada', lastName: 'Lovelace-King' }
const codeOf = (password: string): string => {
  try {
    refuseWeakPassword('password', password, ada)
    return ''
  } catch (error) {
    return (error as { errors: { code: string }[] }).errors[0]!.code
  }
}

t.test('3,000 common passwords of eight characters or more are refused, in any case', async (t) => {
  const common = dictionary['passwords-common'].filter((password) => password.length >= 8)
  t.ok(common.length >= 3_000)
  const refused = common.slice(0, 3_000).filter((password) => codeOf(password) === 'too_common')
  t.equal(refused.length, 3_000)
  t.equal(codeOf('PaSsWoRd1'), 'too_common')
})

t.test('whole equality alone is refused: no substrings, no score', async (t) => {
  for (const close of [
    ada.email,
    ada.email.toUpperCase(),
    'ada.lovelace',
    'AUGUSTA ADA',
    'lovelace-king',
    'BailiWick',
  ])
    t.equal(codeOf(close), 'too_close', close)
  for (const fine of [
    'password1 and more',
    'xAda.Lovelace',
    'lovelace-king1',
    'bailiwick bailiwick',
    'aaaaaaaaaaaa',
  ])
    t.equal(codeOf(fine), '', fine)
  const nameless = { email: 'x@example.com', firstName: '', lastName: '' }
  t.doesNotThrow(() => refuseWeakPassword('password', 'a quiet harbour', nameless))
})

t.test('8 to 128 code points are counted, not bytes and not halves of surrogates', async (t) => {
  const fits = (password: string) => chosenPassword.safeParse(password).success
  t.notOk(fits('1234567'))
  t.ok(fits('12345678'))
  t.notOk(fits('😀'.repeat(7)), 'fourteen halves')
  t.ok(fits('😀'.repeat(8)))
  t.ok(fits('😀'.repeat(128)))
  t.notOk(fits('😀'.repeat(129)))
  t.ok(fits('x'.repeat(128)))
  t.notOk(fits('x'.repeat(129)))
  t.notOk(fits(''))
})

t.test('passwords are compared exactly as sent', async (t) => {
  const service = await startService(t, { workers: false })
  const attempt = (email: string, password: string) =>
    service.call('POST', '/api/v1/auth/login/', { body: { email, password } })
  const cases: [string, string[]][] = [
    ['Café Größe', ['Cafe\u0301 Gro\u0308ße', 'café größe', 'Cafe Grosse']],
    [' leading and trailing ', ['leading and trailing', ' leading and trailing']],
    [`${'long '.repeat(20)}a`, [`${'long '.repeat(20)}b`, 'long '.repeat(20)]],
    ['tabs\tand\nlines', ['tabs and lines']],
    ['😀😀😀😀😀😀😀😀', ['😀😀😀😀😀😀😀😁']],
  ]
  for (const [password, others] of cases) {
    const { email } = await service.register({ password })
    t.equal((await attempt(email, password)).status, 200, password)
    for (const other of others) t.equal((await attempt(email, other)).status, 401, other)
  }
  const { email } = await service.register()
  t.equal((await attempt(email, 'x'.repeat(1_025))).status, 400, 'refused, never cut')
  t.equal((await attempt(email, 'x'.repeat(1_024))).status, 401)
  for (const password of ['lone surrogate \ud800', 'nul \0 inside'])
    t.equal((await attempt(email, password)).status, 400)
})
