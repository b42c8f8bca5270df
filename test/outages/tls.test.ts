import { execFile } from 'node:child_process'
import { chmod, chown, copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import t, { type Test } from 'tap'
import { removeEmbeddedPostgres, startEmbeddedPostgres } from '../../src/development/embedded-postgres.ts'
import { chooseAccount } from '../../src/development/postgres-binaries.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { volatileSettings } from '../../src/test-runner/test-cluster.ts'
import { productionSettings, startProcess } from '../helpers/production.ts'
import { header, mailServer } from '../workers/mail-server.ts'
import { hasRedis, startRedis, until } from '../workers/stage.ts'

// API and worker with TLS to Postgres, Redis and the mail server, whose certificates come from one authority.

const run = promisify(execFile)

/** A key and a self-signed certificate for `localhost`. */
async function makeCertificate(folder: string) {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const named = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '2']
  const fresh = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  await run('openssl', ['req', '-x509', ...fresh, ...named, '-keyout', key, '-out', certificate])
  return { key, certificate }
}

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
  const settings = { ...volatileSettings, ssl: 'on', ssl_cert_file: certificate, ssl_key_file: owned }
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
    const urlOf = (user: string, more = '') => {
      const url = new URL(superuser)
      Object.assign(url, { hostname: 'localhost', username: `bailiwick_${user}`, password: 'pw' })
      url.search = `sslmode=verify-full${more}`
      return url.href
    }
    const trusted = `&sslrootcert=${encodeURIComponent(pair.certificate)}`
    const roles = {
      api: urlOf('api', trusted),
      system: urlOf('system', trusted),
      worker: urlOf('worker', trusted),
    }
    await migrate(superuser, roles)
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
    }
    const [api] = await Promise.all([startProcess(t, 'api', env), startProcess(t, 'worker', env)])
    const body = JSON.stringify({ email: 'ada@example.com', password: 'a quiet harbour' })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${api.url}/api/v1/auth/register/`, { method: 'POST', headers, body })
    t.equal(answer.status, 201)
    await until(() => mails.received.length === 1)
    t.match(header(mails.received[0]!.raw, 'To'), 'ada@example.com')
    t.strictSame(mails.secured, [true])

    const client = new pg.Client({ connectionString: superuser })
    await client.connect()
    const { rows } = await client.query(
      `select distinct application_name as name, ssl from pg_stat_ssl join pg_stat_activity using (pid)
     where usename like 'bailiwick%' order by 1, 2`,
    )
    await client.end()
    t.ok(rows.length >= 2)
    t.same(
      rows.filter(({ ssl }) => !ssl),
      [],
      'every connection to Postgres',
    )

    const wrong = { ...env, DATABASE_API_URL: urlOf('api'), NODE_EXTRA_CA_CERTS: '' }
    await t.rejects(
      startProcess(t, 'api', wrong),
      /DATABASE_API_URL: the certificate of Postgres at localhost:\d+ is not trusted/,
      'an authority that is not configured',
    )
  },
)
