import { generateSync } from 'otplib'
import type { Test } from 'tap'
import { readConfig } from '../../../src/settings/config.ts'
import { serveApi } from '../../../src/start/serve.ts'
import { distributed, overSocket, preparedStatements } from '../../helpers/database.ts'
import { rowsOf } from '../../helpers/query.ts'
import {
  type Answer,
  type Client,
  cheapHashing,
  engineFor,
  type Service,
  tokenIn,
} from '../../helpers/service.ts'

/** The code that an authenticator app shows at `now` (ms), or `steps` of 30 s later. */
export const codeAt = (secret: string, now: number, steps = 0): string =>
  generateSync({ secret, epoch: Math.floor(now / 1000) + steps * 30 })

/** The 6-digit code on a line of its own in a mail. */
export const codeIn = (mail: { text: string }): string => /^\d{6}$/m.exec(mail.text)![0]

/** A code of 6 digits that is none of these. */
export const otherThan = (...codes: string[]): string =>
  [...Array(20).keys()].map((n) => String(100_000 + n * 7)).find((code) => !codes.includes(code))!

/** Sets up and confirms an authenticator app; returns its secret and the device's id. */
export async function enrol(service: Service, person: Client): Promise<{ secret: string; deviceId: string }> {
  const { body } = await person.post('/api/v1/auth/otp/totp/setup/', {})
  const code = codeAt(body.secret, service.now())
  const confirmed = await person.post('/api/v1/auth/otp/totp/confirm/', { code })
  if (confirmed.status !== 200) throw new Error(`Not confirmed: ${JSON.stringify(confirmed.body)}`)
  return { secret: body.secret, deviceId: body.device.id }
}

/** A person whose address was proved more than a day ago, so that factors enrolled by password alone are young. */
export async function longProven(service: Service) {
  const person = await service.register()
  const token = tokenIn(await service.mailTo(person.email, 'Confirm'))
  const { status } = await service.call('POST', '/api/v1/auth/email/verify/confirm/', { body: { token } })
  if (status !== 200) throw new Error('The address was not confirmed')
  service.advance(25 * 3_600_000)
  return person
}

/** Switches a tenant's demand for a second factor on or off. */
export async function requireMfa(service: Service, tenantId: string, required = true): Promise<void> {
  await changeRows(
    service,
    `update tenants set settings = settings || '{"require_mfa": ${required}}' where id = '${tenantId}'`,
  )
}

/** Changes rows as the superuser, for changes that no route makes. */
export const changeRows = (service: Service, statement: string) =>
  rowsOf(service.databases.superuser, statement)

/** Logs in and returns any answer: tokens, a request for a second factor, or a refusal. */
export const attemptLogin = (
  service: Service,
  { email, password }: { email: string; password: string },
  more: { url?: string; tenant_id?: string } = {},
): Promise<Answer> => {
  const { url = '', ...body } = more
  return service.call('POST', `${url}/api/v1/auth/login/`, { body: { email, password, ...body } })
}

/** Starts a second service on the same data with other settings; returns its base URL. */
export async function startBeside(t: Test, service: Service, env: Record<string, string>): Promise<string> {
  const { api, system, worker } = service.databases
  const keys = service.deps.config.SECRET_KEYS!.map((key) => key.toString('base64url')).join(',')
  const config = readConfig({
    NODE_ENV: 'test',
    PORT: '0',
    DATABASE_API_URL: overSocket(api),
    DATABASE_SYSTEM_URL: overSocket(system),
    DATABASE_WORKER_URL: overSocket(worker),
    DATABASE_POOL_SIZE: '2',
    DATABASE_PREPARED_STATEMENTS: preparedStatements,
    DATABASE_DISTRIBUTED: distributed,
    SECRET_KEYS: keys,
    ...env,
  })
  const engine = await engineFor(config)
  const serving = await serveApi(config, service.deps.log, {
    clock: service.now,
    hashing: cheapHashing,
    engine,
  })
  t.teardown(() => serving.stop())
  return serving.url
}
