import { json } from 'node:stream/consumers'
import autocannon from 'autocannon'
import type { Load, Loaded } from './stage.ts'

// A process of its own, so that its work is not counted as the server's: reads a Load, prints a Loaded.

const load = (await json(process.stdin)) as Load
const accounts = [...load.accounts]
const times: number[] = []

/** One connection is one person; where the answers hold a new token, the next request sends that. */
function requestsOf({ headers, body }: Load['accounts'][number]) {
  let next = body
  return [
    {
      method: load.method,
      path: load.path,
      headers,
      setupRequest: <R>(request: R) => (next ? { ...request, body: next } : request),
      onResponse(status: number, answer: string) {
        if (load.follows && status === 200) next = JSON.stringify({ refresh: JSON.parse(answer).refresh })
      },
    },
  ]
}

const instance = autocannon({
  url: load.url,
  connections: accounts.length,
  duration: load.seconds,
  setupClient: (client) => client.setRequests(requestsOf(accounts.pop()!)),
})
instance.on('response', (_client, _status, _bytes, ms) => times.push(ms))
const result = await instance
times.sort((a, b) => a - b)
const percentile = (part: number) => times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0
const loaded: Loaded = {
  perSecond: result['2xx'] / result.duration,
  requests: result['2xx'],
  failed: result.non2xx + result.errors + result.timeouts,
  p50: percentile(0.5),
  p99: percentile(0.99),
}
console.log(JSON.stringify(loaded))
