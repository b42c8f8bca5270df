import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'

const root = join(import.meta.dirname, '..', '..')

/** The shell blocks of the README's sections "Start" and "Let people sign in", in order. */
async function quickstart(): Promise<string[]> {
  const readme = await readFile(join(root, 'README.md'), 'utf8')
  const sections = readme.split('\n## ').filter((part) => /^(Start|Let people sign in)\n/.test(part))
  return [...sections.join('\n').matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block ?? '')
}

function shell(script: string, env: NodeJS.ProcessEnv): Promise<{ code: number; out: string; err: string }> {
  return new Promise((done) => {
    execFile('sh', ['-e', '-c', script], { cwd: root, env }, (error, out, err) => {
      done({ code: Number(error?.code ?? 0), out, err })
    })
  })
}

/** The first line of its output. Rejects if the process ends without one. */
async function firstLine(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout! })
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`npm start ended with ${code}`)
  })
  const [line] = await Promise.race([once(lines, 'line'), ended])
  ended.catch(() => undefined)
  return line
}

t.test('the quickstart of the README does what it says', async (t) => {
  const [install = '', tour = '', login = ''] = await quickstart()
  t.equal(install, 'npm ci\nnpm start\n')
  const dataDir = await mkdtemp(join(tmpdir(), 'bailiwick-quickstart-'))
  const { NODE_OPTIONS, TEST_DATABASE_URL, ...inherited } = process.env
  const env = { ...inherited, DATA_DIR: dataDir }
  t.teardown(async () => {
    await shell('npm run --silent reset -- --yes', env)
    await rm(dataDir, { recursive: true, force: true })
  })

  const service = spawn('npm', ['start', '--silent', '--', '--json'], { cwd: root, env })
  t.teardown(() => service.exitCode === null && service.kill('SIGTERM'))
  const { url, pid, data_dir: folder } = JSON.parse(await firstLine(service))
  t.match({ url, pid, folder }, { url: /^http:\/\//, pid: Number, folder: dataDir })

  t.match(await shell(tour, env), { code: 0, out: `A tour of ${url} in ` })

  t.ok(login.startsWith('URL=http://localhost:3000\n'))
  const { code, out, err } = await shell(login.replace('http://localhost:3000', url), env)
  t.equal(code, 0, err)
  const me = JSON.parse(out.slice(out.indexOf('}{') + 1))
  t.match(me, { email: 'ada@example.com', roles: ['owner'] })

  const beside = await shell('npm run --silent cli -- tenants:list --json --search demo', env)
  t.match(
    JSON.parse(beside.out).tenants,
    [{ slug: 'demo-ltd' }],
    'commands use the database of the running service',
  )
  const admin = await shell('npm run --silent cli -- admin:create --json --email chief@example.com', env)
  const { password } = JSON.parse(admin.out)
  const body = JSON.stringify({ email: 'chief@example.com', password })
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}/api/v1/auth/login/`, { method: 'POST', headers, body })
  t.equal(answer.status, 200, 'and people whom they create can log in')

  const end = once(service, 'exit')
  service.kill('SIGTERM')
  t.same(await end, [0, null], 'and SIGTERM ends it with 0')
})
