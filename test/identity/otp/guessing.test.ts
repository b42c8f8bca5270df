import t from 'tap'
import { recoveryCodeHashes } from '../../../src/identity/otp/codes.ts'
import { sharedService } from '../../helpers/shared-service.ts'
import { attemptLogin, changeRows, codeAt, codeIn, enrol, otherThan } from './authenticator.ts'

const otp = '/api/v1/auth/otp'
const minute = 60_000
const service = await sharedService(t)
const { call } = service
const wrong = { status: 400, body: { code: 'otp_invalid', verified: false } }
const locked = { status: 429, body: { code: 'account_locked', verified: false } }

async function guesser() {
  const person = await service.signUp()
  const { secret } = await enrol(service, person)
  service.advance(minute) // the code of the next check is another than that of the set-up
  const right = () => codeAt(secret, service.now())
  const guess = () =>
    person.post(`${otp}/verify/`, {
      code: otherThan(...[-1, 0, 1].map((n) => codeAt(secret, service.now(), n))),
    })
  const renew = async () =>
    Object.assign(
      person,
      (await call('POST', '/api/v1/auth/refresh/', { body: { refresh: person.refresh } })).body,
    )
  return { person, right, guess, renew, show: () => person.post(`${otp}/verify/`, { code: right() }) }
}

t.test('five wrong codes in five minutes are checked; the sixth is refused, right or wrong', async (t) => {
  const { person, right, guess, show } = await guesser()
  for (let n = 0; n < 5; n++) t.match(await guess(), wrong)
  const refused = await show()
  t.match(refused, locked)
  t.equal(refused.headers.get('retry-after'), '300')
  service.advance(5 * minute - 1)
  t.match(await show(), locked)
  service.advance(1)
  t.match(await show(), { status: 200 })
  t.ok(right())
  t.match(
    (await changeRows(service, `select in_a_row from otp_attempts where user_id = '${person.id}'`))[0],
    {
      in_a_row: 0,
    },
  )
})

t.test('ten wrong codes in a row lock all checks for 15 minutes', async (t) => {
  const { guess, show, renew } = await guesser()
  for (let n = 0; n < 5; n++) t.match(await guess(), wrong)
  service.advance(5 * minute)
  for (let n = 0; n < 5; n++) t.match(await guess(), wrong)
  service.advance(15 * minute - 1_000)
  await renew()
  const refused = await show()
  t.match(refused, locked)
  t.equal(refused.headers.get('retry-after'), '1')
  service.advance(1_000)
  t.match(await show(), { status: 200 })
})

t.test('a right code resets the wrong ones in a row, not the window', async (t) => {
  const { guess, show } = await guesser()
  for (let n = 0; n < 4; n++) t.match(await guess(), wrong)
  t.match(await show(), { status: 200 })
  t.match(await guess(), wrong)
  service.advance(30_000)
  t.match(await show(), locked)
  service.advance(5 * minute)
  for (let n = 0; n < 5; n++) t.match(await guess(), wrong, 'five more, although nine were wrong in total')
  service.advance(5 * minute)
  t.match(await show(), { status: 200 })
})

t.test('guesses count for the person, over all their logins', async (t) => {
  const { person, right } = await guesser()
  const statuses: number[] = []
  for (let n = 0; n < 6; n++) {
    const token = (await attemptLogin(service, person)).body.temporary_token
    const code = n < 5 ? otherThan(right()) : right()
    statuses.push((await call('POST', `${otp}/verify/`, { token, body: { code } })).status)
  }
  t.strictSame(statuses, [400, 400, 400, 400, 400, 429])
  t.match(await person.post(`${otp}/verify/`, { code: right() }), locked)
})

t.test('codes of a confirmation count with the others', async (t) => {
  const person = await service.signUp()
  const { secret } = (await person.post(`${otp}/totp/setup/`)).body
  const right = () => codeAt(secret, service.now())
  const confirm = (code: string) => person.post(`${otp}/totp/confirm/`, { code })
  const refused = { status: 400, body: { code: 'otp_invalid', confirmed: false } }
  for (let n = 0; n < 5; n++) t.match(await confirm(otherThan(right())), refused)
  t.match(await confirm(right()), { status: 429, body: { code: 'account_locked', confirmed: false } })
  t.match(await person.post(`${otp}/verify/`, { code: right() }), locked)
})

t.test('of many parallel wrong codes five are checked', async (t) => {
  const { guess } = await guesser()
  const answers = await Promise.all(Array.from({ length: 30 }, guess))
  t.equal(answers.filter(({ status }) => status === 400).length, 5)
  t.equal(answers.filter(({ status }) => status === 429).length, 25)
})

t.test('a text that cannot be a code is refused and not counted', async (t) => {
  const { person, right, show } = await guesser()
  const strange = [
    ...Array.from({ length: 8 }, (_, n) => '1'.repeat(n)).filter((code) => code.length !== 6),
    'abcdef',
    '１２３４５６',
    '١٢٣٤٥٦',
    '12345\n6',
    '123-456',
    '+12345',
    '1e5000',
    'A'.repeat(15),
    'A'.repeat(17),
    'ABCDEFGHIJKLMN18',
    'ſBCDEFGHIJKLMNOP',
    '9'.repeat(5_000),
  ]
  for (const code of strange) {
    t.match(await person.post(`${otp}/verify/`, { code }), wrong, JSON.stringify(code.slice(0, 20)))
    t.match(await person.post(`${otp}/totp/confirm/`, { code }), { status: 409 })
  }
  for (const code of [123456, null, undefined, ['123456'], { a: 1 }, true])
    t.match(await person.post(`${otp}/verify/`, { code }), {
      status: 400,
      body: { code: 'validation_error', verified: false, errors: [{ field: 'code' }] },
    })
  for (const body of [
    { code: '123456', device_type: 'sms' },
    { code: '123456', type: null },
  ])
    t.match(await person.post(`${otp}/verify/`, body), {
      status: 400,
      body: { code: 'validation_error', verified: false },
    })
  t.match(
    await person.post(`${otp}/verify/`, { code: 'A'.repeat(16), type: 'totp' }),
    wrong,
    'not of the requested form',
  )
  t.match(await show(), { status: 200 })
  t.ok(right())
})

t.test(
  'a code works only for its person, from a confirmed device, within one time step, before it expires',
  async (t) => {
    const ada = await guesser()
    const bob = await guesser()
    t.match(await bob.person.post(`${otp}/verify/`, { code: ada.right() }), wrong, 'another person’s TOTP')
    const { codes } = (await ada.person.post(`${otp}/static/generate/`)).body
    t.match(
      await bob.person.post(`${otp}/verify/`, { code: codes[0] }),
      wrong,
      'another person’s recovery code',
    )
    await ada.person.post(`${otp}/email/send/`)
    const mailed = codeIn(await service.mailTo(ada.person.email, 'sign-in code'))
    t.match(await bob.person.post(`${otp}/verify/`, { code: mailed }), wrong, 'another person’s mailed code')

    const carl = await service.signUp()
    const { secret, device } = (await carl.post(`${otp}/totp/setup/`)).body
    const shown = codeAt(secret, service.now())
    t.match(await carl.post(`${otp}/verify/`, { code: shown }), wrong, 'an unconfirmed device')
    const confirmIt = (who: typeof carl, body: object) =>
      who.post(`${otp}/totp/confirm/`, { code: shown, ...body })
    t.match(await confirmIt(bob.person, { device_id: device.id }), { status: 404 }, 'another person’s device')
    t.match(await confirmIt(carl, { device_id: 'x' }), { status: 400, body: { confirmed: false } })
    for (const steps of [-2, 2])
      t.match(
        await confirmIt(carl, { code: codeAt(secret, service.now(), steps) }),
        { status: 400 },
        `${steps} steps`,
      )
    t.match(
      await confirmIt(carl, { code: codeAt(secret, service.now(), -1) }),
      { status: 200 },
      'one step back',
    )
    t.match(
      await carl.post(`${otp}/verify/`, { code: codeAt(secret, service.now(), 1) }),
      { status: 200 },
      'one step ahead',
    )

    const dan = await service.signUp()
    const elsewhere = await service.logIn(dan)
    const mail = async () => codeIn(await service.mailTo(dan.email, 'sign-in code'))
    await dan.post(`${otp}/email/send/`)
    const first = await mail()
    t.match(await elsewhere.post(`${otp}/verify/`, { code: first }), wrong, 'requested by another session')
    service.advance(301_000)
    t.match(await dan.post(`${otp}/verify/`, { code: first }), wrong, 'after 301 s')
    t.match(await dan.post(`${otp}/totp/confirm/`, { code: first }), { status: 404 }, 'nothing is set up')
  },
)

t.test('a code mailed for one sign-in completes that one only', async (t) => {
  const { person } = await guesser()
  const [one, other] = await Promise.all([0, 1].map(() => attemptLogin(service, person)))
  const verify = (token: string, code: string) => call('POST', `${otp}/verify/`, { token, body: { code } })
  await call('POST', `${otp}/email/send/`, { token: one!.body.temporary_token })
  const code = codeIn(await service.mailTo(person.email, 'sign-in code'))
  t.match(await verify(other!.body.temporary_token, code), wrong)
  t.match(await verify(one!.body.temporary_token, code), { status: 200, body: { access: String } })
})

t.test('older recovery codes of 16 characters still work', async (t) => {
  const person = await service.signUp()
  const { body } = await person.post(`${otp}/static/generate/`)
  const old = 'ABCDEFGHIJKLMN27'
  const hash = recoveryCodeHashes(service.deps.sealer, person.id, old)[0]!.toString('hex')
  await changeRows(
    service,
    `insert into otp_recovery_codes values ('${person.id}', '${body.device_id}', '\\x${hash}')`,
  )
  const loose = old.toLowerCase().replace(/(.{4})/g, '$1-')
  t.match(await person.post(`${otp}/verify/`, { code: loose }), { status: 200 })
  t.match(await person.post(`${otp}/verify/`, { code: old }), wrong, 'once')
})

t.test('several unexpired mailed codes are valid together, but not for another address', async (t) => {
  const person = await service.signUp()
  const sent: string[] = []
  for (let n = 0; n < 2; n++) {
    await person.post(`${otp}/email/send/`)
    for (let code = ''; sent.length === n; ) {
      code = codeIn(await service.mailTo(person.email, 'sign-in code'))
      if (!sent.includes(code)) sent.push(code)
    }
  }
  for (const code of sent) t.match(await person.post(`${otp}/verify/`, { code }), { status: 200 })
  await person.post(`${otp}/email/send/`)
  await changeRows(service, `update users set email = 'new.${person.email}' where id = '${person.id}'`)
  const code = codeIn(await service.mailTo(person.email, 'sign-in code'))
  t.match(await person.post(`${otp}/verify/`, { code }), wrong)
})
