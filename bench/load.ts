import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import autocannon from 'autocannon'
import { percentile } from './percentile.ts'
import type { Load, Loaded } from './stage.ts'

// The load generator. A separate process, so that its CPU time does not count as the server's. Reads a Load from stdin,
// prints a Loaded.

const load = (await json(process.stdin)) as Load
const accounts = [...load.accounts]
const run = Date.now()
const times: number[] = []
const refusedTimes: number[] = []
let withoutRetryAfter = 0
const hasRetryAfter = (headers: Record<string, string>) =>
  Object.keys(headers).some((name) => name.toLowerCase() === 'retry-after')

/** The requests of a connection, which is one person. With `follows`, the next request sends the token of the answer. */
function requestsOf({ headers, body, path = load.path }: Load['accounts'][number]) {
  let next = body
  let sent = 0
  return [
    {
      method: load.method,
      path,
      headers,
      setupRequest: <R>(request: R) =>
        next ? { ...request, body: load.numbered ? next.replace('#', `${run} ${sent++}`) : next } : request,
      onResponse(status: number, answer: string, _context: unknown, headers: Record<string, string>) {
        if ((status === 429 || status === 503) && !hasRetryAfter(headers)) withoutRetryAfter++
        if (load.follows && status === 200) next = JSON.stringify({ refresh: JSON.parse(answer).refresh })
      },
    },
  ]
}

await sleep(Math.max(0, (load.at ?? 0) - Date.now()))
const instance = autocannon({
  url: load.url,
  connections: accounts.length,
  duration: load.seconds,
  ...(load.rate === undefined ? {} : { overallRate: load.rate }),
  setupClient: (client) => client.setRequests(requestsOf(accounts.pop()!)),
})
instance.on('response', (_client, status, _bytes, ms) => {
  times.push(ms)
  if (status === 429 || status === 503) refusedTimes.push(ms)
})
const result = await instance
const loaded: Loaded = {
  perSecond: result['2xx'] / result.duration,
  requests: result['2xx'],
  failed: result.non2xx + result.errors + result.timeouts,
  p50: percentile(times, 0.5),
  p99: percentile(times, 0.99),
  refused: {
    count: refusedTimes.length,
    withoutRetryAfter,
    p50: percentile(refusedTimes, 0.5),
    p99: percentile(refusedTimes, 0.99),
  },
}
console.log(JSON.stringify(loaded))
