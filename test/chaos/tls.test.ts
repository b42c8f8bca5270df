import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { get, request } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import pg from 'pg'
import t, { type Test } from 'tap'
import { migrate } from '../../src/database/migrate/migrate.ts'
import { answerBrokenRequests } from '../../src/http/broken-requests.ts'
import { gracefulClose } from '../../src/http/graceful-close.ts'
import { listenOn } from '../../src/http/listen.ts'
import { newServer } from '../../src/http/new-server.ts'
import {
  removeEmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/start/development/embedded-postgres.ts'
import { chooseAccount } from '../../src/start/development/postgres-binaries.ts'
import { volatileSettings } from '../../tools/tests/test-cluster.ts'
import { productionSettings, startProcess } from '../helpers/production.ts'
import { header, mailServer } from '../workers/mail-server.ts'
import { freePort, hasRedis, startRedis, until } from '../workers/stage.ts'

// API and worker with TLS to Postgres, Redis and the mail server, and from their proxy. All certificates come from one
// authority. Postgres knows the roles by certificates; they have no password.

const run = promisify(execFile)

/** A key and a self-signed certificate for `localhost`. */
async function makeCertificate(folder: string) {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const named = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '2']
  const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  await run('openssl', ['req', '-x509', ...fresh, ...named, '-keyout', key, '-out', certificate])
  return { key, certificate }
}

/** A certificate of a role of the database. Gives the parameters of its address. */
async function certify(
  folder: string,
  role: string,
  { key, certificate }: { key: string; certificate: string },
) {
  const [ownKey, own] = [join(folder, `${role}-key.pem`), join(folder, `${role}.pem`)]
  const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', ownKey]
  const issued = ['-CA', certificate, '-CAkey', key, '-subj', `/CN=${role}`, '-days', '2', '-out', own]
  await run('openssl', ['req', '-x509', ...fresh, ...issued])
  return `&sslcert=${encodeURIComponent(own)}&sslkey=${encodeURIComponent(ownKey)}`
}

/** Only the superuser has a password. */
const hostRules = `hostssl all bailiwick_api,bailiwick_system,bailiwick_worker_2 all cert
host all postgres all scram-sha-256
`

async function startPostgres(
  t: Test,
  parent: string,
  { key, certificate }: { key: string; certificate: string },
) {
  const { uid, gid } = await chooseAccount()
  const owned = join(parent, 'postgres-key.pem')
  await copyFile(key, owned)
  await chmod(owned, 0o600)
  if (uid !== undefined) await chown(owned, uid, gid ?? uid)
  const dataDir = join(parent, 'data')
  const rules = join(parent, 'pg_hba.conf')
  await writeFile(rules, hostRules, { mode: 0o644 })
  const settings = {
    ...volatileSettings,
    ssl: 'on',
    ssl_cert_file: certificate,
    ssl_key_file: owned,
    ssl_ca_file: certificate,
    hba_file: rules,
  }
  const { superuserUrl } = await startEmbeddedPostgres({ dataDir, settings })
  t.teardown(() => removeEmbeddedPostgres({ dataDir }))
  return superuserUrl
}

t.test(
  'in production all connections use TLS, and certificates are checked',
  { skip: !hasRedis },
  async (t) => {
    const parent = await mkdtemp(join(tmpdir(), 'bailiwick-tls-'))
    await chmod(parent, 0o711)
    t.teardown(() => rm(parent, { recursive: true, force: true }))
    const pair = await makeCertificate(parent)
    await chmod(pair.certificate, 0o644)
    const superuser = await startPostgres(t, parent, pair)
    const urlOf = async (user: string, more = '') => {
      const url = new URL(superuser)
      const role = `bailiwick_${user}`
      Object.assign(url, { hostname: 'localhost', username: role, password: '' })
      url.search = `sslmode=verify-full${await certify(parent, role, pair)}${more}`
      return url.href
    }
    const trusted = `&sslrootcert=${encodeURIComponent(pair.certificate)}`
    const roles = {
      api: await urlOf('api', trusted),
      system: await urlOf('system', trusted),
      worker: await urlOf('worker_2', trusted),
    }
    await migrate(superuser, roles)
    const client = new pg.Client({ connectionString: superuser })
    await client.connect()
    t.teardown(() => client.end())
    await client.query('create role bailiwick_worker_2 login in role bailiwick_worker')
    const { rows: logins } = await client.query(
      `select rolname from pg_roles where rolname like 'bailiwick%' and rolcanlogin order by 1`,
    )
    t.same(
      logins.map(({ rolname }) => rolname),
      ['bailiwick_api', 'bailiwick_system', 'bailiwick_worker_2'],
      'a role whose address names another login cannot log in',
    )
    const redis = await startRedis(t, undefined, pair)
    const mails = await mailServer(t, {
      key: await readFile(pair.key, 'utf8'),
      cert: await readFile(pair.certificate, 'utf8'),
    })
    await mails.start()
    const env = {
      ...(await productionSettings({ ...roles, owner: '', superuser }, `smtp://localhost:${mails.port}`)),
      SMTP_REQUIRE_TLS: 'true',
      REDIS_URL: redis.url,
      RATE_LIMIT_ENABLED: 'true',
      NODE_EXTRA_CA_CERTS: pair.certificate,
      TLS_CERTIFICATE_FILE: pair.certificate,
      TLS_PRIVATE_KEY_FILE: pair.key,
    }
    const [managementPort, port] = [String(await freePort()), env.PORT]
    const apiEnv = { ...env, MANAGEMENT_PORT: managementPort }
    const [api] = await Promise.all([startProcess(t, 'api', apiEnv), startProcess(t, 'worker', env)])
    const silent = [port, managementPort].map((port) => connect(Number(port), 'localhost'))
    await Promise.all(silent.map((socket) => once(socket, 'connect')))
    const closed = Promise.all(silent.map((socket) => once(socket.resume(), 'close')))
    const body = JSON.stringify({ email: 'ada@example.com', password: 'a quiet harbour' })
    const headers = { 'content-type': 'application/json' }
    const ca = await readFile(pair.certificate)
    const sent = request(`https://localhost:${port}/api/v1/auth/register/`, { ca, method: 'POST', headers })
    const [answer] = await once(sent.end(body), 'response')
    t.equal(answer.statusCode, 201, await text(answer))
    const [ready] = await once(get(`https://localhost:${managementPort}/readyz`, { ca }), 'response')
    t.equal(ready.statusCode, 200, 'the management port speaks TLS, too')
    for (const plain of [api.url, `http://localhost:${managementPort}`])
      await t.rejects(fetch(`${plain}/readyz`), 'no answer without TLS')
    await until(() => mails.received.length === 1)
    t.match(header(mails.received[0]!.raw, 'To'), 'ada@example.com')
    t.strictSame(mails.secured, [true])

    const { rows } = await client.query(
      `select distinct application_name as name, ssl from pg_stat_ssl join pg_stat_activity using (pid)
     where usename like 'bailiwick%' order by 1, 2`,
    )
    t.ok(rows.length >= 2)
    t.same(
      rows.filter(({ ssl }) => !ssl),
      [],
      'every connection to Postgres',
    )

    const wrong = { ...env, DATABASE_API_URL: await urlOf('api'), NODE_EXTRA_CA_CERTS: '' }
    const stopping = api.stop()
    await t.rejects(
      startProcess(t, 'api', wrong),
      /DATABASE_API_URL: the certificate of Postgres at localhost:\d+ is not trusted/,
      'an authority that is not configured',
    )
    const { code, ms } = await stopping
    t.equal(code, 0)
    t.ok(ms < 20_000, `stopped in ${ms} ms beside connections that never began their handshake`)
    await closed
  },
)

t.test('a server that closes cuts off what is left, with and without a finished handshake', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'bailiwick-tls-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const pair = await makeCertificate(folder)
  const [ca, key] = await Promise.all([readFile(pair.certificate), readFile(pair.key, 'utf8')])
  const server = newServer({ TLS_CERTIFICATE: ca.toString(), TLS_PRIVATE_KEY: key }, {}, () => undefined)
  answerBrokenRequests(server)
  const leaving = gracefulClose(server, 100)
  await listenOn(server, 'localhost', 0)
  const { port } = server.address() as AddressInfo
  const unanswered = get(`https://localhost:${port}/`, { ca })
  const hungUp = t.rejects(once(unanswered, 'response'), { code: 'ECONNRESET' })
  await once(server, 'request')
  const silent = connect(port, 'localhost').resume()
  await once(server, 'connection')
  await Promise.all([leaving.close(), once(silent, 'close'), hungUp])
})
