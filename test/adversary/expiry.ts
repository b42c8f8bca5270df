import type { Answer, Service } from '../helpers/service.ts'
import { attemptLogin, changeRows } from '../identity/otp/authenticator.ts'
import { type Attack, type Tally, unauthorized } from './attack.ts'
import { collectCredentials } from './credentials.ts'

const second = 1_000
const hour = 3_600 * second

export const expiry: Attack = {
  name: 'expiry',
  about: 'tokens, links, codes and cookies after their time, and after their session ended',
  async run(stage, tally) {
    const env = { MAGIC_LINK_ENABLED: 'true', RATE_LIMIT_ENABLED: 'false' }
    const service = await stage.fresh({ env })
    await afterTheirTime(tally, service)
    await replayedRefresh(tally, service)
    await afterEnd(tally, service)
  },
}

const isDead = ({ status, body }: Answer) => [400, 401].includes(status) && body.access === undefined

async function afterTheirTime(tally: Tally, service: Service) {
  const { secrets, caller } = await collectCredentials(service)
  const post = (path: string, body: object, token?: string) =>
    service.call('POST', `/api/v1/${path}/`, { body, token })
  const link =
    (path: string, kind: string, more = {}) =>
    () =>
      post(path, { token: secrets[kind], ...more })
  const words = { password: 'another harbour' }
  // By the moment at which each has to be dead, in the order of time. Genuine ones were used shortly before.
  const ends: [ms: number, what: string, use: () => Promise<Answer>][] = [
    [
      300 * second,
      'mailed code',
      () => caller.post('/api/v1/auth/otp/verify/', { code: secrets['mailed code'] }),
    ],
    [305 * second, 'temporary token', () => post('auth/otp/verify', { code: '000000' }, secrets.temporary)],
    [905 * second, 'access token', () => caller.get('/api/v1/users/me/')],
    [905 * second, 'magic link', link('auth/magic-link/confirm', 'magic link', { nonce: secrets.nonce })],
    [hour, 'reset', link('auth/password/reset/confirm', 'reset', words)],
    [24 * hour, 'verification', link('auth/email/verify/confirm', 'verification')],
    [24 * hour, 'factor undo', link('auth/otp/undo', 'factor undo')],
    [72 * hour, 'address undo', link('auth/email/undo', 'address undo')],
    [168 * hour, 'invitation', link('invitations/accept', 'invitation', words)],
    [168 * hour + 1 * second, 'refresh token', () => post('auth/refresh', { refresh: caller.refresh })],
  ]
  const { status } = await caller.get('/api/v1/users/me/')
  tally.check(status === 200, 'the access token works before its end')
  const begun = service.now()
  for (const [ms, what, use] of ends) {
    service.advance(Math.max(0, begun + ms - service.now()))
    await tally.refuse(`the ${what} after ${ms / second} s`, use, isDead)
  }
}

/** A used refresh token is replayed after the grace time: it ends the session, with the tokens of thief and owner. */
async function replayedRefresh(tally: Tally, service: Service) {
  const ada = await service.signUp()
  const use = (refresh: string) => service.call('POST', '/api/v1/auth/refresh/', { body: { refresh } })
  const { body: next } = await use(ada.refresh)
  service.advance(11 * second)
  await tally.refuse('a replayed refresh token', () => use(ada.refresh), unauthorized('session_revoked'))
  await tally.refuse('its successor', () => use(next.refresh), unauthorized('session_revoked'))
  await tally.refuse(
    'the access token of its successor',
    () => service.call('GET', '/api/v1/users/me/', { token: next.access }),
    unauthorized('session_revoked'),
  )
}

/** Every way to end sessions ends them for the next request. */
async function afterEnd(tally: Tally, service: Service) {
  const ways: Record<string, (ada: Awaited<ReturnType<Service['signUp']>>) => Promise<Answer>> = {
    logout: (ada) => ada.post('/api/v1/auth/logout/'),
    'logout-all': async (ada) => (await service.logIn(ada)).post('/api/v1/auth/logout-all/'),
    'a changed password': async (ada) =>
      (await service.logIn(ada)).post('/api/v1/auth/password/change/', {
        current_password: ada.password,
        new_password: 'another quiet harbour',
      }),
    'an ended session': async (ada) => {
      const other = await service.logIn(ada)
      const { body } = await ada.get('/api/v1/auth/sessions/')
      const own = body.results.find(({ current }: { current: boolean }) => current)
      return other.delete(`/api/v1/auth/sessions/${own.id}/`)
    },
    'an erased account': async (ada) =>
      (await service.logIn(ada)).delete('/api/v1/users/me/', { body: { current_password: ada.password } }),
  }
  for (const [what, end] of Object.entries(ways)) {
    const ada = await service.signUp()
    const { status } = await end(ada)
    tally.check(status < 300, `${what} succeeds (${status})`)
    await tally.refuse(`access after ${what}`, () => ada.get('/api/v1/users/me/'), [401])
    await tally.refuse(
      `refresh after ${what}`,
      () => service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: ada.refresh } }),
      [401],
    )
  }
  const ada = await service.signUp()
  await changeRows(service, `update users set is_active = false where id = '${ada.id}'`)
  const refresh = { refresh: ada.refresh }
  await tally.refuse(
    'a deactivated person',
    () => ada.get('/api/v1/users/me/'),
    unauthorized('session_revoked'),
  )
  await tally.refuse(
    'refresh of a deactivated person',
    () => service.call('POST', '/api/v1/auth/refresh/', { body: refresh }),
    [401],
  )
  await tally.refuse('login of a deactivated person', () => attemptLogin(service, ada), [401])
  await changeRows(service, `update users set is_active = true where id = '${ada.id}'`)
  const { status } = await attemptLogin(service, { ...ada, password: `${ada.password} ` })
  tally.check(status === 401, 'a password is compared exactly as sent')
}
