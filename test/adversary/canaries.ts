import { Writable } from 'node:stream'
import pg from 'pg'
import pino from 'pino'
import type { Service } from '../helpers/service.ts'
import { attemptLogin } from '../identity/otp/authenticator.ts'
import { expect } from '../tenancy/staff.ts'
import type { Attack, Tally } from './attack.ts'
import { collectCredentials } from './credentials.ts'
import { furnish } from './furnish.ts'

// Every secret that the service issues or is told, looked for in every line it logs and in every row of every table, the
// queues included. Captured mails are what a mail server would have received.

export const canaries: Attack = {
  name: 'secrets',
  about: 'secrets in logs, jobs, events and tables',
  async run(stage, tally) {
    const lines: string[] = []
    const sink = new Writable({
      write(chunk, _encoding, done) {
        lines.push(String(chunk))
        done()
      },
    })
    const env = { MAGIC_LINK_ENABLED: 'true', RATE_LIMIT_ENABLED: 'false' }
    const service = await stage.fresh({ env, logTo: pino({ level: 'trace' }, sink) })
    const secrets = await useAll(service)
    const log = lines.join('')
    tally.check(lines.length > 20, `${lines.length} lines were logged`)
    for (const [kind, secret] of secrets)
      tally.check(!log.includes(secret), `no line of the log contains the ${kind}`)
    await searchTables(tally, service, secrets)
    tally.figures.push(`${secrets.length} secrets, ${lines.length} lines`)
  },
}

/** Makes the service handle each secret, rightly and wrongly. Gives them by kind. */
async function useAll(service: Service): Promise<[kind: string, secret: string][]> {
  const { secrets, caller, totpSecret, recoveryCodes } = await collectCredentials(service)
  const { owner } = await furnish(service)
  const { secret: webhookSecret } = await expect(
    201,
    owner.post('/api/v1/webhooks/', { url: 'https://hooks.example.com/y' }),
  )
  const [wrongPassword, newPassword] = ['a wrong harbour 7318', 'a new harbour 9257']
  await attemptLogin(service, { email: caller.email, password: wrongPassword })
  await expect(
    200,
    caller.post('/api/v1/auth/password/change/', {
      current_password: caller.password,
      new_password: newPassword,
    }),
  )
  // Each token once at a place that refuses it: refusals must not repeat what they refuse.
  for (const secret of Object.values(secrets)) {
    await service.call('GET', '/api/v1/users/me/', { token: secret })
    await service.call('POST', '/api/v1/auth/refresh/', { body: { refresh: secret } })
    await service.call('POST', '/api/v1/auth/email/undo/', { body: { token: `${secret}` } })
    await service.call('GET', `/api/v1/users/me/?token=${encodeURIComponent(secret)}`, {
      token: caller.access,
    })
  }
  const { 'mailed code': _, 'code of an app': __, cursor: ___, 'application token': ____, ...long } = secrets
  return [
    ...Object.entries(long),
    ['secret of an app', totpSecret],
    ['secret of a webhook', webhookSecret],
    ['wrong password', wrongPassword],
    ['new password', newPassword],
    ['old password', caller.password],
    ...recoveryCodes.map((code): [string, string] => ['recovery code', code]),
  ]
}

async function searchTables(tally: Tally, service: Service, secrets: readonly [string, string][]) {
  const client = new pg.Client({ connectionString: service.databases.superuser })
  await client.connect()
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
       where schemaname in ('public', 'bullmq') and tablename <> 'captured_mails' order by 1`,
    )
    for (const { name } of tables) {
      const { rows } = await client.query(
        `select s.kind from unnest($1::text[], $2::text[]) as s (kind, secret)
         where exists (select from ${name} t where position(s.secret in t::text) > 0)`,
        [secrets.map(([kind]) => kind), secrets.map(([, secret]) => secret)],
      )
      tally.check(rows.length === 0, `no row of ${name} contains a secret (${rows.map(({ kind }) => kind)})`)
    }
  } finally {
    await client.end()
  }
}
