import http from 'node:http'
import https from 'node:https'
import {
  isAllowedHost,
  PrivateAddressError,
  publicLookup,
  type ReceiverRules,
  type Resolve,
  whyRefused,
} from './public-address.ts'

/** Why there was no answer. A fixed word, because the receiver's own text must not reach our callers. */
export type FailureReason =
  | 'timeout'
  | 'private_address'
  | 'host_not_allowed'
  | 'dns'
  | 'connection'
  | 'tls'
  | 'bad_answer'
  | 'secret'

/** The result of a request: the status of an answer, or the reason why there is none. Times in ms. */
export interface Answer {
  status: number | null
  reason: FailureReason | null
  /** The wait that `Retry-After` requests, not yet bounded; null without the header. */
  retryAfter: number | null
  duration: number
}

/** Posts to URLs of tenants. Connections are kept alive for the next event. */
export interface Poster {
  /** Never rejects. */
  post(url: string, headers: Record<string, string>, body: string): Promise<Answer>
  close(): void
}

/** `limit`: ms for a request, from the DNS lookup to the end of the answer. */
export interface PosterOptions {
  rules: ReceiverRules
  resolve?: Resolve
  limit?: number
  /** Trusted certificates, instead of the system's. */
  ca?: string
  /** ms since 1970, for a `Retry-After` with a date. */
  clock: () => number
}

type Ended = Pick<Answer, 'status' | 'reason'> & { retryAfter?: string | undefined; stale?: boolean }

const maxRead = 64 * 1024
const maxHints = 10

/**
 * Opens a poster. It does not follow redirects, whose targets were not checked. It reads the status of an answer and
 * discards the body, of which it reads at most 64 KiB.
 */
export function openPoster({ rules, resolve, limit = 10_000, ca, clock }: PosterOptions): Poster {
  const lookup = publicLookup(rules.allowPrivate, resolve)
  // Idle connections close after 4 s, before most servers close them, which could happen just as the next event is sent.
  const kept = { keepAlive: true, timeout: 4_000, maxFreeSockets: 256 }
  const agents = { 'http:': new http.Agent(kept), 'https:': new https.Agent(kept) }

  const send = (url: URL, headers: Record<string, string>, body: string, ms: number, fresh = false) =>
    new Promise<Ended>((done) => {
      const secure = url.protocol === 'https:'
      const agent = fresh ? false : agents[secure ? 'https:' : 'http:']
      const options = { method: 'POST', headers, agent, lookup }
      const request = secure
        ? https.request(url, { ...options, rejectUnauthorized: true, ...(ca && { ca }) })
        : http.request(url, options)
      // A status received before the time limit counts, even if the body is incomplete.
      let ended: Ended = { status: null, reason: 'connection' }
      const timer = setTimeout(() => {
        if (ended.status === null) ended = { status: null, reason: 'timeout' }
        request.destroy()
      }, ms)
      let hints = 0
      request.on('information', () => {
        if (++hints <= maxHints) return
        ended = { status: null, reason: 'bad_answer' }
        request.destroy()
      })
      request.on('response', (response) => {
        ended = {
          status: response.statusCode ?? null,
          reason: null,
          retryAfter: response.headers['retry-after'],
        }
        let read = 0
        response.on('data', (part: Buffer) => {
          read += part.length
          if (read > maxRead) request.destroy()
        })
        response.on('error', () => undefined)
      })
      request.on('error', (error) => {
        if (ended.reason !== 'connection') return // already decided
        ended = { status: null, reason: reasonOf(error), stale: request.reusedSocket && wasReset(error) }
      })
      request.on('close', () => {
        clearTimeout(timer)
        done(ended)
      })
      request.end(body)
    })

  return {
    async post(url, headers, body) {
      const started = performance.now()
      const spent = () => performance.now() - started
      // A webhook can be older than the rules.
      const refused = whyRefused(url, rules) !== undefined
      const reason = isAllowedHost(url, rules) ? 'private_address' : 'host_not_allowed'
      let ended: Ended = { status: null, reason }
      if (!refused) ended = await send(new URL(url), headers, body, limit)
      // The server closed the kept connection just as it was used, so try once more on a new connection.
      if (ended.stale) ended = await send(new URL(url), headers, body, Math.max(1, limit - spent()), true)
      return {
        status: ended.status,
        reason: ended.reason,
        retryAfter: waitOf(ended.retryAfter, clock()),
        duration: Math.round(spent()),
      }
    },
    close() {
      agents['http:'].destroy()
      agents['https:'].destroy()
    },
  }
}

const codeOf = (error: Error) => String((error as NodeJS.ErrnoException).code ?? '')
const wasReset = (error: Error) => ['ECONNRESET', 'EPIPE'].includes(codeOf(error))

function reasonOf(error: Error): FailureReason {
  if (error instanceof PrivateAddressError) return 'private_address'
  const code = codeOf(error)
  if (/^(ENOTFOUND|EAI_|ENODATA)/.test(code)) return 'dns'
  if (/^HPE_/.test(code)) return 'bad_answer'
  if (/CERT|^ERR_(TLS|SSL)|^UNABLE_TO|^EPROTO|^HOSTNAME|^DEPTH_ZERO|^INVALID_CA|^CRL_/.test(code))
    return 'tls'
  return 'connection'
}

/** Reads `Retry-After` (RFC 9110 §10.2.3), seconds or a date, as ms from `now`. */
function waitOf(header: string | undefined, now: number): number | null {
  if (header === undefined) return null
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now
  return Number.isFinite(ms) ? Math.max(0, ms) : null
}
