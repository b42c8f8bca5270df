import { callOutside, type FederationSettings } from '../federation/call-upstream.ts'

const limits = { ms: 5_000, bytes: 64 * 1024 }
const maxAge = 86_400

/**
 * Reads the keys of an application at the URL that it names, as {@link callOutside} does. The library keeps what it gives for 60 s at least, and for
 * `max-age`, of at most a day. A failure is an answer, too, so that it is kept.
 */
export const keyFetcher = (settings: FederationSettings) => async (url: string | URL | Request) => {
  try {
    const answer = await callOutside(
      settings,
      String(url),
      { headers: { Accept: 'application/json' } },
      limits,
    )
    if (answer.status !== 200) return failure()
    const body = await answer.text()
    JSON.parse(body)
    const age = Number(/max-age=(\d{1,9})/.exec(answer.headers.get('cache-control') ?? '')?.[1] ?? 0)
    return new Response(body, { headers: { 'Cache-Control': `max-age=${Math.min(age, maxAge)}` } })
  } catch {
    return failure()
  }
}

const failure = () => new Response('{}', { status: 502 })
