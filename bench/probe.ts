import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { percentile } from './percentile.ts'

/** Response times in ms of requests that did not depend on the load. */
export interface Probed {
  p50: number
  p99: number
  count: number
  failed: number
}

/** Requests a URL every `everyMs` while `during` runs. */
export async function probe(
  during: Promise<unknown>,
  url: string,
  headers: Record<string, string> = {},
  everyMs = 50,
): Promise<Probed> {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  const times: number[] = []
  const pending: Promise<void>[] = []
  let failed = 0
  let over = false
  const stop = () => {
    over = true
  }
  during.then(stop, stop)
  const ask = () =>
    new Promise<void>((done) => {
      const started = performance.now()
      request(url, { agent, headers })
        .on('response', (response) => {
          if (response.statusCode !== 200) failed++
          times.push(performance.now() - started)
          response.resume().on('end', done)
        })
        .on('error', () => {
          failed++
          done()
        })
        .end()
    })
  while (!over) {
    pending.push(ask())
    await sleep(everyMs)
  }
  await Promise.all(pending)
  agent.destroy()
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99), count: times.length, failed }
}
