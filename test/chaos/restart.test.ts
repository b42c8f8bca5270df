import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { bareEnv } from '../helpers/bare-env.ts'
import { disposableDatabase } from '../helpers/database.ts'
import { query } from '../helpers/query.ts'
import { requestText } from '../helpers/raw-http.ts'
import { asking, entry, open, register, settingsOn, startApi } from './api-process.ts'

// Restarts behind a balancer, and requests that arrive while no process runs.

const { urls, drop } = await disposableDatabase()
t.teardown(drop)
const settings = settingsOn(urls)

/** The connections of the API, by role. */
async function connectionsOfApi(): Promise<Record<string, number>> {
  const rows = await query(
    urls.superuser,
    `select usename as role, count(*)::int as n from pg_stat_activity
     where datname = current_database() and application_name like 'bailiwick-api/%' group by 1`,
  )
  return Object.fromEntries(rows.map(({ role, n }) => [role, n]))
}

t.test('for SHUTDOWN_DELAY_SECONDS /readyz answers 503 while requests are still served', async (t) => {
  const more = { SHUTDOWN_DELAY_SECONDS: '60', DATABASE_POOL_SIZE: '4' }
  const { child, url, exit, printed } = await startApi(t, { ...settings, ...more })
  if (/connections to Postgres could be opened/.test(printed))
    t.comment('the machine is too slow to open connections in time')
  else
    t.same(await connectionsOfApi(), { bailiwick_api: 4, bailiwick_system: 4 }, 'it has opened them before')
  const kept = await asking(url)
  child.kill('SIGTERM')
  while ((await fetch(`${url}/readyz`)).status === 200) await sleep(10)
  const fresh = await open(url)
  for (const { socket } of [kept, fresh]) socket.write(register(`late${socket.localPort}@example.com`))
  await Promise.all([kept.ended, fresh.ended])
  for (const { received } of [kept, fresh]) {
    t.match(received, /HTTP\/1\.1 201 /, 'old and new connections are answered')
    t.match(
      received,
      /connection: close/i,
      'the answers close their connections, so that the balancer keeps none',
    )
  }
  t.equal((await fetch(`${url}/readyz`)).status, 503)
  await sleep(1_100) // earlier, it counts as the same signal
  child.kill('SIGTERM')
  t.same(await exit, [130, null], 'a second signal ends the wait')
})

t.test('an inherited socket keeps connections that arrive during a restart', async (t) => {
  // As systemd does: opens the socket, keeps it, and restarts the API on it whenever it ends.
  const keeper = `
    use Socket; $^F = 3;
    my $s; socket($s, PF_INET, SOCK_STREAM, 0) && bind($s, sockaddr_in(0, INADDR_LOOPBACK)) && listen($s, 511) or die;
    $| = 1; print "port " . (sockaddr_in(getsockname $s))[0] . "\n";
    for my $n (1, 2) {
      my $child = fork;
      if (!$child) { $ENV{LISTEN_FDS} = 1; $ENV{LISTEN_PID} = $$; exec @ARGV }
      $SIG{TERM} = sub { kill TERM => $child };
      1 until waitpid($child, 0) == $child; print "ended $n $?\n";
    }`
  const child = spawn('perl', ['-e', keeper, process.execPath, entry, 'api'], {
    env: { ...bareEnv, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => void child.kill('SIGKILL'))
  const exit = once(child, 'exit')
  let printed = ''
  child.stdout.on('data', (part) => (printed += part))
  const said = async (text: RegExp) => {
    while (!text.test(printed)) await sleep(10)
    return text.exec(printed)?.[1] ?? ''
  }
  const url = `http://127.0.0.1:${await said(/^port (\d+)/m)}`
  await said(/(Listening) on/)
  child.kill('SIGTERM')
  await said(/^(ended 1 0)$/m)
  const between = await open(url)
  between.socket.write(requestText('GET', '/healthz'))
  await said(/Listening on[\s\S]*(Listening) on/)
  while (!between.received.includes('"ok"')) await sleep(10)
  t.match(
    between.received,
    /^HTTP\/1\.1 200 /,
    'the next process answers a request that was sent while none ran',
  )
  child.kill('SIGTERM')
  t.same(await exit, [0, null])
})
