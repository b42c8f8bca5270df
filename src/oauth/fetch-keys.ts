import http from 'node:http'
import https from 'node:https'
import { publicLookup, type ReceiverRules } from '../events/webhooks/public-address.ts'
import { type FederationSettings, rulesOfUri, whyNotCalled } from './client-uris.ts'

const limitMs = 5_000
const maxBytes = 64 * 1024
const maxAge = 86_400

/**
 * Reads the keys of an application at the URL that it names, by https, at an address of the public internet or one
 * that the settings name, which is checked as it is used. It follows no redirect. The library keeps what it gives for 60 s at least, and for
 * `max-age`, of at most a day. A failure is an answer, too, so that it is kept.
 */
export const keyFetcher = (settings: FederationSettings) => async (url: string | URL | Request) => {
  const text = String(url)
  try {
    if (whyNotCalled(text, settings) !== undefined) return failure()
    const { body, age } = await read(new URL(text), rulesOfUri(text, settings))
    JSON.parse(body)
    return new Response(body, { headers: { 'Cache-Control': `max-age=${Math.min(age, maxAge)}` } })
  } catch {
    return failure()
  }
}

const failure = () => new Response('{}', { status: 502 })

const read = (url: URL, { allowPrivate }: ReceiverRules) =>
  new Promise<{ body: string; age: number }>((done, fail) => {
    const { get } = url.protocol === 'https:' ? https : http
    // A connection that is open already would skip the lookup.
    const options = {
      agent: false,
      lookup: publicLookup(allowPrivate),
      headers: { Accept: 'application/json' },
    }
    const request = get(url, { ...options, signal: AbortSignal.timeout(limitMs) }, (response) => {
      if (response.statusCode !== 200) request.destroy(new Error('There are no keys'))
      const parts: Buffer[] = []
      let bytes = 0
      response.on('data', (part: Buffer) => {
        bytes += part.length
        if (bytes > maxBytes) request.destroy(new Error('The keys are too large'))
        else parts.push(part)
      })
      response.on('error', fail)
      response.on('end', () =>
        done({
          body: Buffer.concat(parts).toString(),
          age: Number(/max-age=(\d{1,9})/.exec(response.headers['cache-control'] ?? '')?.[1] ?? 0),
        }),
      )
    })
    request.on('error', fail)
  })
