import t from 'tap'
import { asSystem } from '../../../src/database/executor/transaction.ts'
import { acceptCode, compareCode } from '../../../src/identity/otp/accept-code.ts'
import { codeTypes, readCode } from '../../../src/identity/otp/channels.ts'
import { listTotpSecrets } from '../../../src/identity/otp/store.ts'
import { rounds } from '../../helpers/rounds.ts'
import { type Client, claimsOf, startService, tokenIn } from '../../helpers/service.ts'
import { attemptLogin, changeRows, codeAt, codeIn, enrol } from './authenticator.ts'

const otp = '/api/v1/auth/otp'
const guarded = rounds(3, 20)
const unguarded = rounds(2, 5)
const parallel = rounds(25, 50)
const service = await startService(t, { env: { DATABASE_POOL_SIZE: '8' } })
const { call } = service

const times = <T>(work: () => Promise<T>) => Promise.all(Array.from({ length: parallel }, work))

/** How a person gets a code of each kind. */
const codeFor: Record<string, (person: Client) => Promise<string>> = {
  totp: async (person) => codeAt((await enrol(service, person)).secret, service.now()),
  email: async (person) => {
    await person.post(`${otp}/email/send/`)
    return codeIn(await service.mailTo(person.email, 'sign-in code'))
  },
  static: async (person) => (await person.post(`${otp}/static/generate/`)).body.codes[3],
}

for (const [kind, make] of Object.entries(codeFor)) {
  t.test(
    `of ${parallel} uses of one ${kind} code at once exactly one succeeds, in ${guarded} rounds`,
    async (t) => {
      const successes: number[] = []
      const strange = new Set<number>()
      for (let round = 0; round < guarded; round++) {
        const person = await service.signUp()
        const code = await make(person)
        const answers = await times(() => person.post(`${otp}/verify/`, { code }))
        successes.push(answers.filter(({ status }) => status === 200).length)
        for (const { status } of answers) if (![200, 400, 429].includes(status)) strange.add(status)
      }
      t.strictSame(successes, Array(guarded).fill(1))
      t.strictSame([...strange], [])
    },
  )

  t.test(`and where the guard is passed over, the ${kind} code itself is still used once`, async (t) => {
    const successes: number[] = []
    for (let round = 0; round < unguarded; round++) {
      const person = await service.signUp()
      const { id: userId, email } = person
      const mailbox = { address: email, proven: false, codes_count_from: null }
      const signInId = claimsOf(person.access).sid
      const code = readCode(await make(person))
      const at = service.now()
      const { db } = service.deps
      const devices = await asSystem(db, 'a test', (tx) => listTotpSecrets(tx, userId))
      const comparison = compareCode(
        service.deps,
        { userId, signInId, mailbox, at },
        code,
        codeTypes,
        devices,
      )
      const shown = await times(() => asSystem(db, 'a test', (tx) => acceptCode(tx, comparison)))
      successes.push(shown.filter((one) => one !== null).length)
    }
    t.strictSame(successes, Array(unguarded).fill(1))
  })
}

t.test(
  `of ${parallel} uses of one verification token exactly one succeeds, in ${guarded} rounds`,
  async (t) => {
    const successes: number[] = []
    for (let round = 0; round < guarded; round++) {
      const person = await service.register()
      const token = tokenIn(await service.mailTo(person.email, 'Confirm'))
      const answers = await times(() =>
        call('POST', '/api/v1/auth/email/verify/confirm/', { body: { token } }),
      )
      successes.push(answers.filter(({ status }) => status === 200).length)
    }
    t.strictSame(successes, Array(guarded).fill(1))
  },
)

t.test(`of ${parallel} uses of one reset token exactly one succeeds, in ${guarded} rounds`, async (t) => {
  const successes: number[] = []
  const refusals = new Set<string>()
  for (let round = 0; round < guarded; round++) {
    const { email } = await service.register()
    await call('POST', '/api/v1/auth/password/reset/', { body: { email } })
    const token = tokenIn(await service.mailTo(email, 'Reset'))
    const body = { token, password: 'another quiet harbour' }
    const answers = await times(() => call('POST', '/api/v1/auth/password/reset/confirm/', { body }))
    successes.push(answers.filter(({ status }) => status === 200).length)
    for (const { status, body } of answers) if (status !== 200) refusals.add(body.code)
  }
  t.strictSame(successes, Array(guarded).fill(1))
  t.strictSame([...refusals], ['token_invalid'])
})

t.test('one temporary token begins one session, even with several right codes', async (t) => {
  for (let round = 0; round < 5; round++) {
    const person = await service.signUp()
    await enrol(service, person)
    const { codes } = (await person.post(`${otp}/static/generate/`)).body
    const token = (await attemptLogin(service, person)).body.temporary_token
    const answers = await Promise.all(
      codes.slice(0, 5).map((code: string) => call('POST', `${otp}/verify/`, { token, body: { code } })),
    )
    t.strictSame(answers.map(({ status }) => status).sort(), [200, 401, 401, 401, 401])
    const [left] = (await person.get(`${otp}/devices/`)).body.results.filter(
      (d: { type: string }) => d.type === 'static',
    )
    t.equal(left.remaining_codes, 9, 'a code that began no session is not used up')
  }
})

t.test('of parallel sets of recovery codes one is left', async (t) => {
  const person = await service.signUp()
  const sets = await Promise.all(Array.from({ length: 10 }, () => person.post(`${otp}/static/generate/`)))
  t.ok(sets.every(({ status }) => status === 200))
  const rows = await changeRows(
    service,
    `select count(*)::int as left from otp_recovery_codes where user_id = '${person.id}'`,
  )
  t.match(rows, [{ left: 10 }])
})

t.test('of parallel confirmations one succeeds, with one event and one mail', async (t) => {
  const person = await service.signUp()
  const { secret } = (await person.post(`${otp}/totp/setup/`)).body
  const code = codeAt(secret, service.now())
  const answers = await times(() => person.post(`${otp}/totp/confirm/`, { code }))
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  const events = await changeRows(
    service,
    `select type, data from events where subject = '${person.id}' and type = 'identity.otp_device_confirmed'`,
  )
  t.strictSame(events, [
    { type: 'identity.otp_device_confirmed', data: { user_id: person.id, device_type: 'totp' } },
  ])
})

t.test('parallel set-ups leave one device', async (t) => {
  const person = await service.signUp()
  const answers = await times(() => person.post(`${otp}/totp/setup/`))
  t.ok(answers.every(({ status }) => status === 200))
  t.match((await person.get(`${otp}/devices/`)).body, { count: 1 })
})

t.test('each event of a factor is written once, with exactly the fields of its type', async (t) => {
  const person = await service.signUp()
  const { deviceId } = await enrol(service, person)
  const { codes, device_id: set } = (await person.post(`${otp}/static/generate/`)).body
  await person.post(`${otp}/verify/`, { code: codes[0] })
  await person.post(`${otp}/email/send/`)
  await person.post(`${otp}/verify/`, { code: codeIn(await service.mailTo(person.email, 'sign-in code')) })
  for (const id of [deviceId, set]) await person.delete(`${otp}/devices/${id}/`)
  const events = await changeRows(
    service,
    `select type, data from events where subject = '${person.id}' and type !~ 'login|created' order by id`,
  )
  const user_id = person.id
  t.strictSame(events, [
    { type: 'identity.otp_device_confirmed', data: { user_id, device_type: 'totp' } },
    { type: 'identity.recovery_codes_generated', data: { user_id } },
    { type: 'identity.recovery_code_used', data: { user_id } },
    { type: 'identity.email_verified', data: { user_id, email: person.email } },
    { type: 'identity.otp_device_deleted', data: { user_id, device_type: 'totp' } },
    { type: 'identity.otp_device_deleted', data: { user_id, device_type: 'static' } },
  ])
})
