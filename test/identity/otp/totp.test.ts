import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createSealer } from '../../../src/crypto/seal.ts'
import { makeTotpSecret, matchTotp, provisioningUri } from '../../../src/crypto/totp.ts'
import { matchingDevices, totpContext } from '../../../src/identity/otp/check-totp.ts'
import type { Config } from '../../../src/settings/config.ts'
import { startService } from '../../helpers/service.ts'
import { changeRows, codeAt, enrol, startBeside } from './authenticator.ts'

// RFC 6238 appendix B, SHA-1: the secret is "12345678901234567890"; the last 6 of its 8 digits are the 6-digit code.
const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
const vectors: [number, string][] = [
  [59, '94287082'],
  [1_111_111_109, '07081804'],
  [1_111_111_111, '14050471'],
  [1_234_567_890, '89005924'],
  [2_000_000_000, '69279037'],
  [20_000_000_000, '65353130'],
]

t.test('the codes are those of RFC 6238', async (t) => {
  for (const [seconds, code] of vectors)
    t.equal(
      matchTotp(secret, code.slice(-6), seconds * 1000, null),
      Math.floor(seconds / 30),
      `at ${seconds} s`,
    )
})

t.test('a code is accepted at most one step early or late, at every moment of a step', async (t) => {
  const start = 1_900_000_020_000
  for (const second of [0, 1, 15, 29])
    for (const steps of [-2, -1, 0, 1, 2]) {
      const now = start + second * 1000
      const step = Math.floor(now / 30_000) + steps
      t.equal(
        matchTotp(secret, codeAt(secret, now, steps), now, null),
        Math.abs(steps) <= 1 ? step : null,
        `${steps} at second ${second}`,
      )
      t.equal(matchTotp(secret, codeAt(secret, now, steps), now, step), null, 'but not twice')
    }
})

t.test('after a clock is set back or the drift lowered, codes up to the last step are refused', async (t) => {
  const now = 1_900_000_020_000
  const present = Math.floor(now / 30_000)
  for (const drift of [0, 1])
    for (const last of [present, present + 1, present + 2, present + 1_000])
      t.equal(matchTotp(secret, codeAt(secret, now), now, last, drift), null, `${last}, drift ${drift}`)
})

t.test('secrets are random, and URIs escape the characters of names', async (t) => {
  t.match(makeTotpSecret(), /^[A-Z2-7]{32}$/)
  t.not(makeTotpSecret(), makeTotpSecret())
  t.equal(
    provisioningUri('A&B?c=1:x', 'ada+1@example.com', secret),
    `otpauth://totp/A%26B%3Fc%3D1%3Ax:ada%2B1%40example.com?secret=${secret}&issuer=A%26B%3Fc%3D1%3Ax`,
  )
})

t.test('a sealed secret opens only for its person and device', async (t) => {
  const sealer = createSealer([randomBytes(32)])
  const logged: unknown[] = []
  const config = { OTP_TOTP_DRIFT_STEPS: 1 } as Config
  const deps = { sealer, config, log: { error: (line: unknown) => logged.push(line) } as never }
  const now = 1_900_000_020_000
  const device = {
    id: 'd',
    secret_sealed: sealer.seal('totp', secret, totpContext('u', 'd')),
    last_step: null,
    confirmed: true,
  }
  const ask = (userId: string, id: string) =>
    matchingDevices(deps, { userId, code: codeAt(secret, now), at: now }, [{ ...device, id }]).length
  t.equal(ask('u', 'd'), 1)
  t.equal(ask('v', 'd'), 0)
  t.equal(ask('u', 'e'), 0)
  t.equal(logged.length, 2)
})

t.test(
  'after a rotation of SECRET_KEYS secrets are sealed again when used, and codes still work',
  async (t) => {
    const service = await startService(t)
    const person = await service.signUp()
    const { secret, deviceId } = await enrol(service, person)
    service.advance(90_000)
    const strict = await startBeside(t, service, { OTP_TOTP_DRIFT_STEPS: '0' })
    const verify = (base: string, code: string) =>
      service.call('POST', `${base}/api/v1/auth/otp/verify/`, { token: person.access, body: { code } })
    const early = codeAt(secret, service.now(), 1)
    for (const code of [codeAt(secret, service.now(), -1), early])
      t.equal((await verify(strict, code)).status, 400, 'a code of another step, without drift')
    t.equal((await verify(strict, codeAt(secret, service.now()))).status, 200, 'the present one')
    t.equal((await verify('', early)).status, 200, 'with drift, the next one too')
    service.advance(90_000)
    const { codes } = (await person.post('/api/v1/auth/otp/static/generate/')).body
    const [old] = service.deps.config.SECRET_KEYS!
    const keys = [randomBytes(32), old!].map((key) => key.toString('base64url'))
    const url = await startBeside(t, service, { SECRET_KEYS: keys.join(',') })
    const keyId = async () =>
      (
        await changeRows(
          service,
          `select encode(substr(secret_sealed, 1, 4), 'hex') as id from otp_devices where id = '${deviceId}'`,
        )
      )[0]!.id
    const before = await keyId()
    t.match(await verify(url, codeAt(secret, service.now())), { status: 200, body: { device_type: 'totp' } })
    t.not(await keyId(), before)
    t.match(await verify(url, codes[0]), { status: 200, body: { device_type: 'static' } })
    const alone = await startBeside(t, service, {
      SECRET_KEYS: [keys[0]!, randomBytes(32).toString('base64url')].join(','),
    }).catch(() => null)
    t.equal(alone, null, 'without the old key the signing keys cannot be opened, so the start fails')
  },
)
