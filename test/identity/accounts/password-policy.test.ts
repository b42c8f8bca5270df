import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dictionary } from '@zxcvbn-ts/language-common'
import t from 'tap'
import { decodeHashedSet, encodeHashedSet } from '../../../src/crypto/hashed-set.ts'
import { breachedPasswordsFile, isBreachedPassword } from '../../../src/identity/auth/breached-passwords.ts'
import { refuseWeakPassword } from '../../../src/identity/auth/password-policy.ts'
import { chosenPassword } from '../../../src/identity/person.ts'
import { readConfig } from '../../../src/settings/config.ts'
import { startService, tokenIn } from '../../helpers/service.ts'
import { sharedService } from '../../helpers/shared-service.ts'

const config = readConfig({ NODE_ENV: 'test' })
const ada = {
  email: 'ada.lovelace@analytical-engines.com',
  firstName: 'Augusta Ada',
  lastName: 'Lovelace-King',
  tenants: ['Difference Engine Ltd.', 'engine-works-1822'],
}
const codeOf = (password: string): string => {
  try {
    refuseWeakPassword({ config }, 'password', password, ada)
    return ''
  } catch (error) {
    return (error as { errors: { code: string }[] }).errors[0]!.code
  }
}

t.test('100,000 breached passwords are refused in any case, with few false positives', async (t) => {
  const { size } = decodeHashedSet(readFileSync(breachedPasswordsFile))
  t.ok(size >= 100_000, `${size} passwords`)
  const common = dictionary['passwords-common'].filter((password) => password.length >= 8)
  t.ok(common.length > 15_000)
  t.same(
    common.filter((password) => !isBreachedPassword(password)),
    [],
  )
  for (const password of ['PaSsWoRd1', 'saknas236', 'Jennifer500', '078217878', 'dragon123', 'monkey12'])
    t.equal(codeOf(password), 'too_common', password)
  const others = Array.from({ length: 100_000 }, () => randomBytes(9).toString('base64'))
  const taken = others.filter(isBreachedPassword).length
  t.ok(taken <= 20, `${taken} of 100,000 others, where 3.5 are expected`)
})

t.test('a set of hashes of any size is read as it was written', async (t) => {
  for (const size of [0, 1, 2, 1_000]) {
    const texts = Array.from({ length: size }, (_, n) => `text ${n}`)
    const file = encodeHashedSet(texts)
    t.same(encodeHashedSet(texts.reverse()), file, 'the order does not matter')
    const set = decodeHashedSet(file)
    t.equal(set.size, size)
    t.ok(texts.every((text) => set.has(text)))
    t.notOk(set.has('another'))
  }
  t.throws(() => decodeHashedSet(encodeHashedSet(['one', 'two']).subarray(0, 7)), /ends too early/)
})

t.test('only whole words are refused: no substrings, no score', async (t) => {
  for (const close of [
    ada.email,
    ada.email.toUpperCase(),
    'ada.lovelace',
    'AUGUSTA ADA',
    'lovelace-king',
    'LovelaceKing, Augusta Ada',
    'analytical engines',
    'BailiWick',
    'Bailiwick2026!',
    'difference_engine_ltd',
    '1822 Difference Engine Ltd',
    'EngineWorks1822',
  ])
    t.equal(codeOf(close), 'too_close', close)
  for (const fine of [
    'password1 and more',
    'xAda.Lovelace',
    'lovelace-king1',
    'bailiwick bailiwick',
    'bailiwick20261121',
    'the difference engine ltd',
    'aaaaaaaaaaaaaa',
    '!!!!!!!!!!!!',
  ])
    t.equal(codeOf(fine), '', fine)
  const nameless = { email: 'x@example.com', firstName: '', lastName: '', tenants: [] }
  t.doesNotThrow(() => refuseWeakPassword({ config }, 'password', 'a quiet harbour', nameless))
})

t.test('every place that sets a password refuses the person’s own words', async (t) => {
  const service = await startService(t, { env: { PASSWORD_BLOCKED_WORDS: 'Harbour Master, Quay' } })
  const refused = (field: string, code: string) => ({
    status: 400,
    body: { code: 'validation_error', errors: [{ field, code }] },
  })
  const register = (more: object) =>
    service.call('POST', '/api/v1/auth/register/', {
      body: { email: 'new@example.com', first_name: 'Grace', last_name: 'Hopper', ...more },
    })
  t.match(await register({ password: 'harbour-master 24' }), refused('password', 'too_close'))
  t.match(await register({ password: 'hopper, grace' }), refused('password', 'too_close'))
  t.match(await register({ password: 'saknas236' }), refused('password', 'too_common'))
  const owner = await service.signUp()
  const { body: tenant } = await owner.post('/api/v1/tenants/', { name: 'Grand Piano' })
  const change = (new_password: string) =>
    owner.post('/api/v1/auth/password/change/', { current_password: owner.password, new_password })
  t.match(await change('GrandPiano 1999'), refused('new_password', 'too_close'))
  await owner.switchTo(tenant.id)
  const guest = 'guest@example.com'
  await owner.post(`/api/v1/tenants/${tenant.id}/invitations/`, { email: guest })
  const token = tokenIn(await service.mailTo(guest))
  const accept = (password: string) =>
    service.call('POST', '/api/v1/invitations/accept/', { body: { token, password } })
  t.match(await accept('grand-piano'), refused('password', 'too_close'))
  await service.call('POST', '/api/v1/auth/password/reset/', { body: { email: owner.email } })
  const link = tokenIn(await service.mailTo(owner.email, 'password'))
  const confirm = (password: string) =>
    service.call('POST', '/api/v1/auth/password/reset/confirm/', { body: { token: link, password } })
  t.match(await confirm('Grand Piano'), refused('password', 'too_close'))
  t.equal((await confirm('a grand old piano')).status, 200, 'a refused password does not use the token up')
})

t.test('the length counts 8 to 128 code points, not bytes or surrogate halves', async (t) => {
  const fits = (password: string) => chosenPassword.safeParse(password).success
  t.notOk(fits('1234567'))
  t.ok(fits('12345678'))
  t.notOk(fits('😀'.repeat(7)), '14 surrogates')
  t.ok(fits('😀'.repeat(8)))
  t.ok(fits('😀'.repeat(128)))
  t.notOk(fits('😀'.repeat(129)))
  t.ok(fits('x'.repeat(128)))
  t.notOk(fits('x'.repeat(129)))
  t.notOk(fits(''))
})

t.test('passwords are compared exactly as sent', async (t) => {
  const service = await sharedService(t, { workers: false })
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
  t.equal((await attempt(email, 'x'.repeat(1_025))).status, 400, 'refused, not truncated')
  t.equal((await attempt(email, 'x'.repeat(1_024))).status, 401)
  for (const password of ['lone surrogate \ud800', 'nul \0 inside'])
    t.equal((await attempt(email, password)).status, 400)
})
