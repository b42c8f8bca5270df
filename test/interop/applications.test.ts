import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseEnv, promisify } from 'node:util'
import t, { type Test } from 'tap'
import { snippets } from '../../packages/console/applications/snippets.ts'
import { noChromium, openTab } from '../helpers/chromium.ts'
import { proveAddress } from '../helpers/prove-address.ts'
import { startService } from '../helpers/service.ts'
import { authorize, openApplication, openBrowser } from '../oauth/relying-party.ts'
import { openPages } from '../pages/sign-in/page-client.ts'
import { freePort, install, startProgram } from './programs.ts'

// Applications with the libraries that people use: each signs a person in, and says who that is. npm run test:interop

const service = await startService(t, { workers: false })
service.advance(Date.now() - service.now()) // the libraries use the clock of the machine
const person = await service.signUp()
await proveAddress(service, person)
const issuer = service.deps.publicUrl()

type Method = 'client_secret_basic' | 'client_secret_post'
interface Registered {
  clientId: string
  secret: string
  port: number
  origin: string
}

async function register(path: string, more: object = {}, host = '127.0.0.1'): Promise<Registered> {
  const port = await freePort()
  const origin = `http://${host}:${port}`
  const made = await openApplication(service, person, { redirect_uris: [origin + path], ...more })
  return { clientId: made.client.id, secret: made.secret, port, origin }
}

const environment = ({ clientId, secret }: Registered) => ({
  ISSUER: issuer,
  CLIENT_ID: clientId,
  CLIENT_SECRET: secret ?? '',
})

/** What the console would write for a client. */
function written(name: string, { clientId, secret, origin }: Registered, path: string, method: Method) {
  return snippets
    .find((one) => one.name === name)!
    .files({
      issuer,
      clientId,
      secret,
      redirectUri: origin + path,
      scope: 'openid profile email',
      algorithm: 'RS256',
      authentication: method,
    })
}

/** Goes through an application as a browser does, from `start` to the page that says who signed in. */
async function whoSignsIn(app: string, start: string) {
  const browser = openPages({ url: app })
  let seen = await browser.visit(start)
  for (let step = 0; step < 12; step++) {
    if (/<form[^>]*signin\/bailiwick/.test(seen.text)) seen = await browser.send({}, '/bailiwick')
    if (!seen.refresh) break
    const to = new URL(seen.refresh, app)
    const isOurs = to.origin === issuer
    const back = isOurs ? await authorize(openBrowser(service), person, to.pathname + to.search) : to
    seen = await browser.visit(back.pathname + back.search)
  }
  const said = seen.headers.get('x-claims') ?? seen.text
  try {
    return JSON.parse(said)
  } catch {
    throw new Error(`${app} answered ${seen.status}: ${said}`)
  }
}

const skip = (t: Test, reason: string): void => void t.plan(0, reason)

/** A test of an application; skipped, with the reason, where its library cannot be installed. */
function tried<P>(name: string, installed: () => Promise<P>, run: (t: Test, place: P) => Promise<void>) {
  t.test(name, async (t) => {
    const place = await installed().catch((error: Error) => error)
    if (!(place instanceof Error)) return run(t, place)
    skip(t, place.message.split('\n').slice(0, 2).join(' '))
  })
}

const fromNpm: [name: string, path: string, method: Method][] = [
  ['oauth4webapi', '/callback', 'client_secret_post'],
  ['auth-core', '/api/auth/callback/bailiwick', 'client_secret_basic'],
  ['next-auth-4', '/api/auth/callback/bailiwick', 'client_secret_basic'],
  ['express-openid-connect', '/callback', 'client_secret_basic'],
  ['passport-openidconnect', '/callback', 'client_secret_post'],
]
for (const [name, path, method] of fromNpm)
  tried(name, install.npm, async (t, folder) => {
    const client = await register(path, { token_endpoint_auth_method: method })
    const command = [process.execPath, join(folder, `${name}.mjs`)]
    const app = await startProgram(t, command, client.port, { env: environment(client) })
    t.match(await whoSignsIn(app, '/sign-in'), { sub: person.id, email: person.email })
  })

for (const method of ['client_secret_basic', 'client_secret_post'] as const)
  tried(`openid-client, as the console writes it, ${method}`, install.npm, async (t, folder) => {
    const client = await register('/callback', { token_endpoint_auth_method: method })
    const files = written('Express with openid-client 6', client, '/callback', method)
    const home = `app.get('/', (request, response) => response.json(request.session.user ?? null))`
    const served = files['server.mjs']!.replace(
      'app.listen(3000)',
      `${home}\napp.listen(process.env.PORT, '127.0.0.1')`,
    )
    const at = t.testdir({
      'server.mjs': served,
      '.env': `${files['.env']}\nSESSION_SECRET=${'x'.repeat(32)}\n`,
    })
    await symlink(join(folder, 'node_modules'), join(at, 'node_modules'))
    const command = [process.execPath, '--env-file=.env', 'server.mjs']
    const app = await startProgram(t, command, client.port, { env: {}, cwd: at })
    t.match(await whoSignsIn(app, '/login'), { sub: person.id, email: person.email })
  })

tried('Auth.js 5 in Next.js, as the console writes it', install.next, async (t, folder) => {
  const path = '/api/auth/callback/bailiwick'
  // Next takes 127.0.0.1 in a request for localhost, also in the redirect URI.
  const client = await register(path, {}, 'localhost')
  const { '.env.local': own = '', ...files } = written(
    'Next.js with Auth.js',
    client,
    path,
    'client_secret_basic',
  )
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  const secrets = { AUTH_SECRET: 'x'.repeat(32), AUTH_URL: client.origin }
  const env = { ...parseEnv(own), ...secrets, HOSTNAME: '127.0.0.1', NEXT_TELEMETRY_DISABLED: '1' }
  const next = join(folder, 'node_modules/next/dist/bin/next')
  await promisify(execFile)(process.execPath, [next, 'build'], {
    cwd: folder,
    env: { ...process.env, ...env },
  })
  const app = await startProgram(t, [process.execPath, next, 'start'], client.port, { env, cwd: folder })
  t.match(await whoSignsIn(app, '/sign-in'), { email: person.email })
})

tried('oidc-client-ts, in a browser', install.npm, async (t, folder) => {
  if (noChromium) return skip(t, noChromium)
  const client = await register('/callback', { kind: 'spa' })
  const command = [process.execPath, join(folder, 'oidc-client-ts.mjs')]
  const app = await startProgram(t, command, client.port, { env: environment(client) })
  const { page } = await openTab(t, `${app}/sign-in`)
  await page.getByLabel('E-mail address').fill(person.email)
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
  await page.getByLabel('Password', { exact: true }).fill(person.password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.locator('button[name="decision"][value="allow"]').click()
  await page.waitForFunction("document.body?.textContent.includes('renewed')")
  const said = JSON.parse(await page.innerText('body'))
  t.match(said, { sub: person.id, email: person.email, renewed: true })
})

tried('a native app on loopback', install.npm, async (t, folder) => {
  const { clientId } = await register('/callback', { kind: 'native' })
  const env = { ...process.env, ISSUER: issuer, CLIENT_ID: clientId }
  const program = spawn(process.execPath, [join(folder, 'native.mjs')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => program.kill())
  const lines = createInterface(program.stdout)[Symbol.asyncIterator]()
  const asked = new URL((await lines.next()).value!)
  const answer = await authorize(openBrowser(service), person, asked.pathname + asked.search)
  t.match(await (await fetch(answer)).text(), /You are signed in/)
  t.match(JSON.parse((await lines.next()).value!), { sub: person.id })
})

tried('Authlib in Flask', install.python, async (t, python) => {
  const client = await register('/callback')
  const command = [python, join(import.meta.dirname, 'apps/flask-app.py')]
  const app = await startProgram(t, command, client.port, { env: environment(client) })
  t.match(await whoSignsIn(app, '/sign-in'), { sub: person.id, email: person.email })
})

for (const method of ['client_secret_basic', 'client_secret_post'] as const)
  tried(`mozilla-django-oidc, as the console writes it, ${method}`, install.python, async (t, python) => {
    const path = '/oidc/callback/'
    const client = await register(path, { token_endpoint_auth_method: method })
    const files = written('Django with mozilla-django-oidc', client, path, method)
    const env = {
      SETTINGS: files['settings.py']!,
      URLS: files['urls.py']!,
      DATABASE: join(t.testdir(), 'db'),
    }
    const command = [python, join(import.meta.dirname, 'apps/django-app.py')]
    const app = await startProgram(t, command, client.port, { env })
    t.match(await whoSignsIn(app, '/oidc/authenticate/'), { email: person.email })
  })

tried('go-oidc', install.go, async (t, program) => {
  const client = await register('/callback')
  const app = await startProgram(t, [program], client.port, { env: environment(client) })
  t.match(await whoSignsIn(app, '/sign-in'), { sub: person.id, email: person.email })
})

tried('oauth2-proxy, as the console writes it', install.oauth2Proxy, async (t, program) => {
  const path = '/oauth2/callback'
  const client = await register(path)
  const behind = createServer(({ headers }, response) => {
    const claims = { sub: headers['x-forwarded-user'], email: headers['x-forwarded-email'] }
    response.end(JSON.stringify(claims))
  })
  await once(behind.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => behind.close())
  const { port } = behind.address() as { port: number }
  const own = written('oauth2-proxy', client, path, 'client_secret_basic')['oauth2-proxy.cfg']!
  const lines = [
    own.replace(':8080/', `:${port}/`).replace('cookie_secret = ""', `cookie_secret = "${'x'.repeat(32)}"`),
    // This test has no TLS, and asks for no click.
    `http_address = "127.0.0.1:${client.port}"\ncookie_secure = false\nskip_provider_button = true`,
  ]
  const at = join(t.testdir({ 'oauth2-proxy.cfg': lines.join('\n') }), 'oauth2-proxy.cfg')
  const app = await startProgram(t, [program, '--config', at], client.port, { env: {} })
  t.match(await whoSignsIn(app, '/'), { sub: person.id, email: person.email })
})

tried('Spring Boot, as the console writes it', install.spring, async (t, jar) => {
  const path = '/login/oauth2/code/bailiwick'
  const client = await register(path)
  const at = join(t.testdir(written('Spring Boot', client, path, 'client_secret_basic')), 'application.yml')
  const settings = [
    `--spring.config.location=${at}`,
    `--server.port=${client.port}`,
    '--server.address=127.0.0.1',
  ]
  const app = await startProgram(t, ['java', '-jar', jar, ...settings], client.port, { env: {} })
  t.match(await whoSignsIn(app, '/'), { sub: person.id, email: person.email })
})

for (const method of ['client_secret_basic', 'client_secret_post'] as const)
  tried(`mod_auth_openidc, as the console writes it, ${method}`, install.apache, async (t, modules) => {
    const client = await register('/oidc', { token_endpoint_auth_method: method })
    const { 'openidc.conf': own = '' } = written('Apache with mod_auth_openidc', client, '/oidc', method)
    // Apache's own user has to read it.
    const at = await mkdtemp(join(tmpdir(), 'bailiwick-apache-'))
    await writeFile(join(at, 'passphrase'), 'x'.repeat(32))
    const names = ['mpm_event', 'authn_core', 'authz_core', 'authz_user', 'auth_openidc', 'headers']
    const claims = `{\\"sub\\":\\"%{OIDC_CLAIM_sub}e\\",\\"email\\":\\"%{OIDC_CLAIM_email}e\\"}`
    const lines = [
      `ServerRoot ${at}\nServerName 127.0.0.1\nListen 127.0.0.1:${client.port}\nPidFile ${at}/pid\nErrorLog "|/bin/cat"`,
      ...names.map((name) => `LoadModule ${name}_module ${modules}/mod_${name}.so`),
      // The module redirects only what a browser opens, and Node's fetch says that it is no such thing.
      'RequestHeader unset Sec-Fetch-Mode early',
      `User www-data\nGroup www-data\nHeader always set X-Claims "${claims}" env=OIDC_CLAIM_sub`,
      own.replace('/etc/apache2/oidc-passphrase', `${at}/passphrase`),
    ]
    await writeFile(join(at, 'apache.conf'), `${lines.join('\n')}\n`)
    const command = ['apache2', '-DFOREGROUND', '-f', join(at, 'apache.conf')]
    const app = await startProgram(t, command, client.port, { env: {} })
    t.match(await whoSignsIn(app, '/'), { sub: person.id, email: person.email })
  })
