import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { createLoopTurns } from '../../src/limits/loop-turns.ts'
import { sharedService } from '../helpers/shared-service.ts'

const service = await sharedService(t, { workers: false })
const { hostname, port } = new URL(service.url)

t.test('of many callers a share goes on in each turn, and too many are refused', async (t) => {
  const turn = createLoopTurns()
  let gone = 0
  const callers = Array.from({ length: 1_001 }, () => Promise.resolve(turn()).then(() => gone++))
  t.throws(turn, { status: 503, code: 'overloaded' })
  for (let turns = 0; turns < 3; turns++) await nextTurn()
  t.ok(gone > 20 && gone < 200, String(gone))
  await Promise.all(callers)
})

t.test('of callers that arrive at once, one goes on in each turn of the event loop, in order', async (t) => {
  const turn = createLoopTurns()
  const gone: number[] = []
  for (let caller = 0; caller < 3; caller++) void Promise.resolve(turn()).then(() => gone.push(caller))
  // The first one has what is left of this turn, too.
  for (const count of [1, 1, 2, 3, 3]) {
    await Promise.resolve().then(() => undefined)
    t.same(gone, [...Array(count).keys()])
    await nextTurn()
  }
})

t.test('a burst of calls without a token lets others in between', async (t) => {
  const head = (line: string, ...headers: string[]) =>
    [`${line} HTTP/1.1`, `Host: ${hostname}:${port}`, ...headers, '', ''].join('\r\n')
  const health = head('GET /healthz')
  const login = head(
    'POST /api/v1/auth/login/',
    'Content-Type: application/json',
    'Content-Length: 2',
  ).concat('{}')
  const asking = async () => {
    const socket = connect(Number(port), hostname)
    t.teardown(() => socket.destroy())
    const ask = async (request: string) => {
      const answer = once(socket, 'data')
      socket.write(request)
      await answer
    }
    await ask(health) // the server accepts one connection in each turn of its loop
    return ask
  }
  const answered: string[] = []
  const burst = await Promise.all(Array.from({ length: 80 }, asking))
  const other = await asking()
  const send = (name: string, answer: Promise<void>) => answer.then(() => void answered.push(name))
  await Promise.all([...burst.map((ask) => send('login', ask(login))), send('health', other(health))])
  t.ok(answered.indexOf('health') < 40, `${answered.indexOf('health')} of 80 were answered before`)
})
