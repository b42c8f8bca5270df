import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Config, readConfig } from '../src/settings/config.ts'
import { openDevelopment } from '../src/start/development/development.ts'
import { removeEmbeddedPostgres } from '../src/start/development/embedded-postgres.ts'
import { reportAndExit } from '../src/start/stop-signal.ts'
import { apiEnvironment, freePort, logIn, post } from './stage.ts'

// Counts the requests lost while two API processes restart one after the other, behind a real balancer with the example
// configuration of docs/operations. Run it by hand, with nginx or haproxy installed:
//   node bench/rolling-restarts.ts nginx|haproxy [--rounds 10] [--delay 5] [--rate 100]
// A request is lost when it gets no answer, or a 5xx. Half of the requests are POSTs, which a balancer must not repeat.
// Half of the clients keep their connection, the others open a new one for each request.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '10' },
    delay: { type: 'string', default: '5' },
    rate: { type: 'string', default: '100' },
  },
})
const [balancer = ''] = positionals
const person = { email: 'ada@example.com', password: 'a quiet harbour' }

/** How to start each balancer with a configuration file. The example configurations contain the addresses below. */
const balancers: Record<
  string,
  { example: string; held: boolean; whole(text: string): string; args(file: string): string[] }
> = {
  nginx: {
    example: 'nginx.conf',
    held: true,
    whole: (text) =>
      `daemon off; worker_processes 2; pid nginx.pid; error_log stderr crit; events { worker_connections 4096; }\nhttp { access_log off;\n${text}}`,
    args: (file) => ['-p', join(file, '..'), '-c', file],
  },
  haproxy: {
    example: 'haproxy.cfg',
    held: false,
    whole: (text) => text,
    args: (file) => ['-db', '-q', '-f', file],
  },
}

interface Counts {
  sent: number
  slowest: number
  lost: Map<string, number>
}

/** Sends one request; counts lost ones by their outcome. */
async function ask(counts: Counts, url: string, agent: Agent | undefined, token: string): Promise<void> {
  const isPost = counts.sent++ % 2 === 0
  const started = performance.now()
  const body = JSON.stringify({
    subject: { type: 'user', id: person.email },
    resource: { type: 'document', id: '1' },
    action: { name: 'document:read' },
  })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const path = isPost ? '/access/v1/evaluation' : '/api/v1/users/me/'
  const outcome = await new Promise<string>((resolve) => {
    const options = { method: isPost ? 'POST' : 'GET', headers, ...(agent ? { agent } : { agent: false }) }
    request(url + path, options)
      .on('response', (response) =>
        response
          .resume()
          .on('end', () => resolve(String(response.statusCode)))
          .on('error', ({ message }) => resolve(message)),
      )
      .on('error', ({ message }) => resolve(message))
      .end(isPost ? body : undefined)
  })
  counts.slowest = Math.max(counts.slowest, performance.now() - started)
  if (outcome === '200') return
  const name = `${isPost ? 'POST' : 'GET'} ${outcome}`
  counts.lost.set(name, (counts.lost.get(name) ?? 0) + 1)
}

async function main() {
  const chosen = balancers[balancer]
  if (!chosen) throw new Error(`Give one of these balancers: ${Object.keys(balancers).join(', ')}.`)
  const folder = await mkdtemp(join(tmpdir(), 'bailiwick-rolling-'))
  await chmod(folder, 0o711)
  const development = await openDevelopment(readConfig({ DATA_DIR: folder }))
  const ends: (() => Promise<unknown>)[] = []
  try {
    const ports = [await freePort(), await freePort()]
    const port = await freePort()
    const processes = await Promise.all(
      ports.map((port) => keepApi(development.config, port, chosen.held, ends)),
    )
    const text = await readFile(join(import.meta.dirname, '..', 'docs', 'operations', chosen.example), 'utf8')
    const file = join(folder, chosen.example)
    const addressed = [
      ['3001', ports[0]],
      ['3002', ports[1]],
      ['8080', port],
    ].reduce((whole, [from, to]) => whole.replaceAll(`127.0.0.1:${from}`, `127.0.0.1:${to}`), text)
    await writeFile(file, chosen.whole(addressed))
    const url = `http://127.0.0.1:${port}`
    ends.push(endOf(spawn(balancer, chosen.args(file), { stdio: ['ignore', 'inherit', 'inherit'] })))
    await until(url)
    await post(url, 'register', person)
    const { access } = await logIn(url, person)

    const counts: Counts = { sent: 0, slowest: 0, lost: new Map() }
    const agent = new Agent({ keepAlive: true, maxSockets: 16 })
    const pending: Promise<void>[] = []
    const load = setInterval(() => {
      pending.push(ask(counts, url, counts.sent % 4 < 2 ? agent : undefined, access))
    }, 1_000 / Number(values.rate))
    for (let round = 0; round < Number(values.rounds); round++)
      for (const { restart } of processes) {
        const started = performance.now()
        await restart()
        console.log(`  restarted in ${Math.round(performance.now() - started)} ms`)
      }
    clearInterval(load)
    await Promise.all(pending)
    agent.destroy()
    const lost = [...counts.lost.values()].reduce((sum, count) => sum + count, 0)
    console.log(
      `${balancer}: ${values.rounds} rolling restarts of two processes, ${counts.sent} requests, ${lost} lost, the slowest took ${Math.round(counts.slowest)} ms`,
    )
    for (const [what, count] of counts.lost) console.log(`  ${count} × ${what}`)
  } finally {
    for (const end of ends.reverse()) await end()
    await development.stop()
    await removeEmbeddedPostgres({ dataDir: folder })
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * A Perl script that keeps an API running on a port: restarts it when it ends and at SIGHUP, and ends with it at SIGTERM.
 * `held`: opens the socket and passes it on, as systemd does, so that connections wait while no process runs.
 */
const keeper = `
  use Socket; $^F = 3; $| = 1;
  my ($port, $held, @command) = @ARGV;
  my $s; if ($held) {
    socket($s, PF_INET, SOCK_STREAM, 0) && setsockopt($s, SOL_SOCKET, SO_REUSEADDR, 1)
      && bind($s, sockaddr_in($port, INADDR_LOOPBACK)) && listen($s, 511) or die;
  }
  my $end = 0; my $child;
  $SIG{HUP} = sub { kill TERM => $child }; $SIG{TERM} = sub { $end = 1; kill TERM => $child };
  while (!$end) {
    $child = fork;
    if (!$child) { if ($held) { $ENV{LISTEN_FDS} = 1; $ENV{LISTEN_PID} = $$ } exec @command }
    1 until waitpid($child, 0) == $child; print "ended\\n";
  }`

const endOf = (child: ChildProcess) => async () => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  await exit
}

/** Starts an API, waits until it is ready, and returns how to restart it. Adds a function to `ends` that ends it. */
async function keepApi(
  config: Config,
  port: number,
  held: boolean,
  ends: (() => Promise<unknown>)[],
): Promise<{ restart(): Promise<void> }> {
  const entry = join(import.meta.dirname, '..', 'src', 'start', 'entry.cjs')
  const env = {
    ...apiEnvironment(config),
    PATH: process.env.PATH,
    HOST: '127.0.0.1',
    PORT: String(port),
    SHUTDOWN_DELAY_SECONDS: values.delay,
    TRUSTED_PROXIES: '127.0.0.1',
    LOG_LEVEL: 'error',
  }
  const command = [process.execPath, entry, 'api']
  const child = spawn('perl', ['-e', keeper, String(port), held ? '1' : '', ...command], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  ends.push(endOf(child))
  const url = `http://127.0.0.1:${port}`
  await until(url)
  return {
    async restart() {
      const ended = once(child.stdout, 'data')
      child.kill('SIGHUP')
      await ended
      await until(url)
    },
  }
}

async function until(url: string): Promise<void> {
  for (let tries = 0; tries < 300; tries++, await sleep(100))
    if ((await fetch(`${url}/readyz`).catch(() => undefined))?.ok) return
  throw new Error(`Nothing is ready at ${url}`)
}

main().catch(reportAndExit)
