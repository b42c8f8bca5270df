import { randomInt } from 'node:crypto'
import type { Service } from '../helpers/service.ts'
import { attemptLogin, codeAt, enrol, otherThan } from '../identity/otp/authenticator.ts'
import type { Attack, Stage, Tally } from './attack.ts'

export const guessing: Attack = {
  name: 'guessing',
  about: 'passwords and codes tried out, from changing addresses, in fresh sign-ins, over all channels',
  async run(stage, tally) {
    const env = { TRUSTED_PROXIES: '127.0.0.1', RATE_LIMIT_ENABLED: 'false' }
    const service = await stage.fresh({ env, workers: false })
    await passwordsFromOneAddress(stage, tally, service)
    await passwordsFromManyAddresses(stage, tally, service)
    await codes(stage, tally, service)
  },
}

const from = (ip: string) => ({ 'x-forwarded-for': ip })
const logIn = (service: Service, email: string, password: string, ip: string) =>
  service.call('POST', '/api/v1/auth/login/', { body: { email, password }, headers: from(ip) })

async function passwordsFromOneAddress(stage: Stage, tally: Tally, service: Service) {
  const ada = await service.register()
  let compared = 0
  for (let n = 0; n < stage.pick(15, 40, 200); n++) {
    // One network of IPv6 has more addresses than an attacker can use: it counts as one.
    const { status } = await logIn(service, ada.email, `guess ${n} of them`, `2001:db8::${n.toString(16)}`)
    if (status === 401) compared++
    tally.count(`guess ${n}`, status === 401 || status === 429 ? null : `${status}`)
  }
  tally.check(compared <= 10, `${compared} passwords were compared from one network, at most 10`)
  const right = await logIn(service, ada.email, ada.password, '2001:db8::1')
  tally.check(right.status === 429, 'a locked network is refused with the right password, too')
  const elsewhere = await logIn(service, ada.email, ada.password, '198.51.100.7')
  tally.check(elsewhere.status === 200, 'the owner can log in from another network')
}

async function passwordsFromManyAddresses(stage: Stage, tally: Tally, service: Service) {
  const ada = await service.register()
  await logIn(service, ada.email, ada.password, '198.51.100.7')
  let compared = 0
  const tries = stage.pick(120, 300, 2_000)
  const guess = async (n: number) => {
    const { status } = await logIn(service, ada.email, 'not this one', `10.${n >> 8}.${n & 255}.1`)
    if (status === 401) compared++
    tally.count(`guess ${n} from its own address`, status === 401 || status === 429 ? null : `${status}`)
  }
  for (let n = 0; n < tries; n += 10)
    await Promise.all(Array.from({ length: 10 }, (_, lane) => guess(n + lane)))
  tally.check(compared <= 100, `${compared} passwords were compared in a day, at most 100`)
  const owner = await logIn(service, ada.email, ada.password, '198.51.100.7')
  tally.check(owner.status === 200, 'the owner can log in from an address that was used before')
  tally.figures.push(`${tries} passwords from as many addresses: ${compared} compared`)
}

async function codes(stage: Stage, tally: Tally, service: Service) {
  const person = await service.signUp()
  const { secret } = await enrol(service, person)
  service.advance(60_000)
  const windows = stage.pick(5, 10, 100)
  let compared = 0
  for (let window = 0; window < windows; window++) {
    let inWindow = 0
    for (let n = 0; n < 5; n++)
      inWindow += await guessInFreshSignIn(tally, service, person, secret, `10.9.${window}.${n}`)
    tally.check(inWindow <= 5, `${inWindow} codes were compared in five minutes, at most 5`)
    compared += inWindow
    service.advance(300_000)
  }
  const { status } = await attemptLogin(service, person)
  tally.check(status === 200, 'wrong codes do not lock the password')
  // Ten in a row are followed by a pause of three windows.
  const most = 10 + windows * 2.5
  tally.check(compared <= most, `${compared} codes were compared in ${windows} windows, at most ${most}`)
  tally.figures.push(`${windows} windows of 15 codes in 5 sign-ins: ${compared} codes compared`)
}

/** Tries three codes in one sign-in. Gives the number of those that were compared. */
async function guessInFreshSignIn(
  tally: Tally,
  service: Service,
  person: { email: string; password: string },
  secret: string,
  ip: string,
): Promise<number> {
  const token = (await attemptLogin(service, person)).body.temporary_token
  const right = [-1, 0, 1].map((step) => codeAt(secret, service.now(), step))
  let compared = 0
  for (const device_type of [undefined, 'totp', 'email']) {
    const body = { code: otherThan(...right, String(randomInt(100_000))), device_type }
    const { status } = await service.call('POST', '/api/v1/auth/otp/verify/', {
      token,
      body,
      headers: from(ip),
    })
    if (status === 400) compared++
    tally.count('a code in a fresh sign-in', [400, 429].includes(status) ? null : `${status}`)
  }
  return compared
}
