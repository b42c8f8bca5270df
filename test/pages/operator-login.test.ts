import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { queueBoard } from '../../src/pages/management/queue-board.ts'
import { ConfigError, readConfig } from '../../src/settings/config.ts'

const right = 'correct horse battery'
const basic = (password: string, name = 'operator') =>
  `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`

/** The board's login, without queues and with a clock that stands still. */
async function startBoard(t: Test) {
  const time = { now: 1_000_000 }
  const logged: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) })
  const queues = { away: false }
  const listQueues = async () => {
    if (queues.away) throw new Error('redis://:secret@redis:6379 refuses')
    return []
  }
  const board = queueBoard({ path: '/queues', password: right, listQueues, clock: () => time.now, log })
  const server = createServer(board).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const ask = async (authorization = '', headers: Record<string, string> = {}, method = 'GET') => {
    const answer = await fetch(`http://127.0.0.1:${port}/queues/`, {
      method,
      headers: { ...(authorization && { authorization }), ...headers },
    })
    const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
    return { status: answer.status, headers: answer.headers, cookie, text: await answer.text() }
  }
  const guess = (times: number, headers = {}) =>
    Promise.all(Array.from({ length: times }, (_, n) => ask(basic(`wrong password ${n}`), headers)))
  return { ask, guess, time, logged, queues }
}

t.test('the board requires name and password, and opens for the right ones only', async (t) => {
  const { ask, logged } = await startBoard(t)
  const anonymous = await ask()
  t.equal(anonymous.status, 401)
  t.equal(anonymous.headers.get('www-authenticate'), 'Basic realm="Bailiwick queues", charset="UTF-8"')
  t.notMatch(anonymous.text, 'Dashboard')
  const wrong = [
    basic(right, 'admin'),
    basic(''),
    basic(`${right} `),
    basic(right.slice(1)),
    `Bearer ${right}`,
  ]
  for (const { status, cookie } of await Promise.all([...wrong, 'Basic', 'Basic ?'].map((one) => ask(one)))) {
    t.equal(status, 401)
    t.equal(cookie, '')
  }
  t.equal(logged.length, 4, 'a header without name and password is not a guess')
  t.notMatch(logged.join(''), right.slice(1))
  const operator = await ask(basic(right))
  t.equal(operator.status, 200)
  t.match(operator.text, 'Bailiwick queues')
})

t.test(
  'while the queues are unavailable the board says so on a page of its own; then it opens',
  async (t) => {
    const { ask, queues } = await startBoard(t)
    queues.away = true
    const away = await ask(basic(right))
    t.equal(away.status, 503)
    t.equal(away.headers.get('retry-after'), '2')
    t.notMatch(away.text, 'redis')
    t.equal((await ask()).status, 401, 'only the operator gets this page')
    queues.away = false
    t.equal((await ask(basic(right))).status, 200)
  },
)

t.test('no answer can be cached or framed, or loads files of other origins', async (t) => {
  const { ask } = await startBoard(t)
  for (const { headers } of [await ask(), await ask(basic(right))]) {
    t.equal(headers.get('cache-control'), 'no-store')
    t.equal(headers.get('x-frame-options'), 'DENY')
    t.equal(headers.get('referrer-policy'), 'no-referrer')
    t.equal(headers.get('x-content-type-options'), 'nosniff')
    t.match(headers.get('content-security-policy'), /^default-src 'none'.*frame-ancestors 'none'$/)
    t.notMatch(headers.get('content-security-policy'), /http|\*|unsafe-eval/)
  }
})

t.test('a wrong password takes a second, and ten within a minute block logins for a minute', async (t) => {
  const { ask, guess, time } = await startBoard(t)
  const begun = performance.now()
  for (const { status } of await guess(9)) t.equal(status, 401)
  t.ok(performance.now() - begun > 900)
  t.equal((await ask(basic(right))).status, 200, 'after nine it still opens')
  t.equal((await guess(1))[0]!.status, 401)
  const late = await ask(basic(right))
  t.equal(late.status, 429, 'the right password resets no count, and is refused now')
  t.equal(late.headers.get('retry-after'), '60')
  t.equal((await ask()).status, 401, 'a request without a guess is asked for the password as usual')
  time.now += 59_999
  t.equal((await ask(basic(right))).status, 429)
  time.now += 1
  t.equal((await ask(basic(right))).status, 200)
  for (const { status } of await guess(9)) t.equal(status, 401, 'the count starts again')
})

t.test('of many concurrent guesses ten are checked', async (t) => {
  const { guess } = await startBoard(t)
  const statuses = (await guess(40)).map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 401).length, 10)
  t.equal(statuses.filter((status) => status === 429).length, 30)
})

t.test('nine a minute block nothing', async (t) => {
  const { ask, guess, time } = await startBoard(t)
  await guess(9)
  time.now += 60_000
  await guess(9)
  t.equal((await ask(basic(right))).status, 200)
})

t.test('guesses of other clients do not lock an operator out of an open page', async (t) => {
  const { ask, guess, time } = await startBoard(t)
  const { cookie, headers } = await ask(basic(right))
  t.match(headers.get('set-cookie'), /; Path=\/queues; Max-Age=43200; HttpOnly; SameSite=Strict$/)
  await guess(10)
  t.equal((await ask(basic(right))).status, 429)
  t.equal((await ask(basic(right), { cookie })).status, 200)
  t.equal((await ask('', { cookie })).status, 401, 'the cookie without the password opens nothing')
  for (const forged of [`${cookie}x`, cookie.replace(/=\d/, '=9'), 'bailiwick_operator=9999999999999.'])
    t.equal((await ask(basic(right), { cookie: forged })).status, 429, forged)
  const renewed = (await ask(basic(right), { cookie })).cookie
  const stolen = (await guess(12, { cookie })).map(({ status }) => status)
  t.equal(stolen.filter((status) => status === 401).length, 10, 'guesses with the cookie are counted, too')
  time.now += 60_000
  t.equal((await ask(basic(right), { cookie: renewed })).status, 200)
  time.now += 12 * 3_600_000
  await guess(10)
  t.equal(
    (await ask(basic(right), { cookie: renewed })).status,
    429,
    'after twelve hours the cookie does not count',
  )
})

t.test('the password of the board needs sixteen characters', async (t) => {
  for (const wanting of ['fifteen letters', '日本語日本語'])
    t.throws(() => readConfig({ QUEUE_BOARD_PASSWORD: wanting }), {
      constructor: ConfigError,
      message: /QUEUE_BOARD_PASSWORD must have 16 characters or more/,
    })
  t.equal(readConfig({ QUEUE_BOARD_PASSWORD: right }).QUEUE_BOARD_PASSWORD, right)
  t.throws(() => readConfig({ QUEUE_BOARD_PASWORD: right }), {
    message: /QUEUE_BOARD_PASWORD is not a setting/,
  })
})
