import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { acquireInstanceLock } from '../../../src/start/development/instance-lock.ts'
import { steps } from '../../../tools/tour/steps.ts'
import { startService } from '../../helpers/service.ts'

const entry = join(import.meta.dirname, '..', '..', '..', 'src', 'start', 'entry.cjs')

interface Ran {
  code: number
  out: string
  err: string
  /** How long it went on after its last output (ms). */
  lingered: number
}

function run(file: string, args: string[], env: Record<string, string> = {}): Promise<Ran> {
  return new Promise((done) => {
    let last = performance.now()
    execFile(file, args, { env: { ...process.env, ...env } }, (error, out, err) => {
      done({ code: Number(error?.code ?? 0), out, err, lingered: performance.now() - last })
    }).stdout?.on('data', () => {
      last = performance.now()
    })
  })
}

const tour = (args: string[], env?: Record<string, string>) =>
  run(process.execPath, [entry, 'tour', ...args], env)

t.test('with a service running', async (t) => {
  const { url } = await startService(t, { actors: [] })

  t.test('two tours at the same time get every expected answer, step by step', async (t) => {
    for (const { code, out, err } of await Promise.all([tour(['--url', url]), tour(['--url', `${url}/`])])) {
      t.equal(code, 0, err)
      for (const [index, { title, why }] of steps.entries()) {
        t.ok(out.includes(`\n${index + 1}. ${title}\n   ${why}\n$ curl -s `), title)
      }
      t.match(out, /"decision_id": "[0-9a-f-]{36}"/)
      t.match(out, /"code": "missing_permission",\s+"layer": "rbac"/)
    }
  })

  t.test('a shell runs the lines as they are printed, of a tour that ends with its last line', async (t) => {
    const { out, lingered } = await tour(['--url', url])
    // The service ends an idle connection after 65 s.
    t.ok(lingered < 30_000, 'although the mailbox is long')
    const commands = out.split('\n').filter((line) => line.startsWith('$ '))
    const lines = commands.filter(
      (line) => /^\$ (\w+=|.*users\/me)/.test(line) && !/\$(BOB|PROGRAM)/.test(line),
    )
    const shell = await run('sh', ['-c', lines.map((line) => line.slice(2)).join('\n')])
    t.match(JSON.parse(shell.out), { first_name: 'Ada', current_tenant: { name: "Ada's tenant" } })
  })

  t.test('the data folder names the URL of the service', async (t) => {
    const folder = t.testdir({})
    const lock = await acquireInstanceLock(folder)
    t.match(
      await tour([], { DATA_DIR: folder }),
      { code: 1, err: `No service runs on ${folder}` },
      'not yet ready',
    )
    await lock.announce(url)
    t.match(await tour([], { DATA_DIR: folder }), { code: 0, out: `A tour of ${url} in ` })
    await lock.release()
  })
})

t.test('without a running service the tour says what to do', async (t) => {
  const folder = t.testdir({})
  t.match(await tour([], { DATA_DIR: folder }), {
    code: 1,
    out: '',
    err: /Run npm start in another terminal/,
  })
  t.match(await tour(['--url', 'http://127.0.0.1:1']), { code: 1, err: /^http:\/\/127.0.0.1:1 is not ready/ })
})

t.test('an unexpected answer ends the tour with exit code 1 and the expectation', async (t) => {
  const body = '{}'
  const server = createServer((request, response) => {
    response.writeHead(request.method === 'GET' ? 200 : 201, { 'content-type': 'application/json' })
    response.end(body)
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const wrongBody = await tour(['--url', url])
  t.match(wrongBody, {
    code: 1,
    err: /Expected POST \/api\/v1\/auth\/register\/ to answer 201 with \{"email":/,
  })
  server.removeAllListeners('request')
  server.on('request', (_request, response) => response.writeHead(200).end('{}'))
  const wrongStatus = await tour(['--url', url])
  t.match(wrongStatus, { code: 1, err: /Expected POST \/api\/v1\/auth\/register\/ to answer 201, got 200/ })
})

t.test('a tour changes nothing in a service without a mailbox', async (t) => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    response.writeHead(request.url === '/readyz' ? 200 : 404).end('{}')
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.match(await tour(['--url', url]), {
    code: 1,
    err: /has no mailbox\. The tour reads captured mail: it needs npm start/,
  })
  t.strictSame(asked, ['GET /readyz', 'GET /dev/mailbox'])
})
