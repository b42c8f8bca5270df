import http from 'node:http'
import https from 'node:https'
import { whyRefused } from './public-address.ts'
import { PrivateAddress, publicLookup, type Resolve } from './public-lookup.ts'

/** Why there was no answer: a word of ours, for what the other side says is not ours to repeat. */
export type Trouble = 'timeout' | 'private_address' | 'dns' | 'connection' | 'tls' | 'bad_answer' | 'secret'

/** How a request ended: with the status of an answer, or without one. Times in ms. */
export interface Answer {
  status: number | null
  trouble: Trouble | null
  /** What `Retry-After` asks to wait, not yet bounded; null where it asks for nothing. */
  retryAfter: number | null
  duration: number
}

/** Posts to URLs that tenants give, over connections that are kept for the next event. */
export interface Poster {
  /** Never rejects. */
  post(url: string, headers: Record<string, string>, body: string): Promise<Answer>
  close(): void
}

/** `limit`: ms for a request from the look-up of the name to the end of the answer. */
export interface PosterOptions {
  allowPrivate: boolean
  resolve?: Resolve
  limit?: number
  /** Certificates that are trusted in place of the system's. */
  ca?: string
  /** ms since 1970, to read a Retry-After that is a date */
  clock: () => number
}

type Ended = Pick<Answer, 'status' | 'trouble'> & { retryAfter?: string | undefined; stale?: boolean }

const maxRead = 64 * 1024
const maxHints = 10

/**
 * Opens a poster. Redirects are not followed: they would lead where nobody looked. Of an answer, its status is read
 * and at most 64 KiB more, which are thrown away.
 */
export function openPoster({ allowPrivate, resolve, limit = 10_000, ca, clock }: PosterOptions): Poster {
  const lookup = publicLookup(allowPrivate, resolve)
  // An idle connection is closed before the usual server does it, in the moment in which the next event is sent.
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
      // What has come of an answer when the time is over counts: the status is the answer.
      let ended: Ended = { status: null, trouble: 'connection' }
      const timer = setTimeout(() => {
        if (ended.status === null) ended = { status: null, trouble: 'timeout' }
        request.destroy()
      }, ms)
      let hints = 0
      request.on('information', () => {
        if (++hints <= maxHints) return
        ended = { status: null, trouble: 'bad_answer' }
        request.destroy()
      })
      request.on('response', (response) => {
        ended = {
          status: response.statusCode ?? null,
          trouble: null,
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
        if (ended.trouble !== 'connection') return // decided before
        ended = { status: null, trouble: troubleOf(error), stale: request.reusedSocket && wasCut(error) }
      })
      request.on('close', () => {
        clearTimeout(timer)
        done(ended)
      })
      request.end(body)
    })

  return {
    async post(url, headers, body) {
      const begun = performance.now()
      const spent = () => performance.now() - begun
      const refused = whyRefused(url, allowPrivate) !== undefined
      let ended: Ended = { status: null, trouble: 'private_address' }
      if (!refused) ended = await send(new URL(url), headers, body, limit)
      // The server closed the kept connection as it was used: that says nothing about the event.
      if (ended.stale) ended = await send(new URL(url), headers, body, Math.max(1, limit - spent()), true)
      const { status, trouble } = ended
      return {
        status,
        trouble,
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
const wasCut = (error: Error) => ['ECONNRESET', 'EPIPE'].includes(codeOf(error))

function troubleOf(error: Error): Trouble {
  if (error instanceof PrivateAddress) return 'private_address'
  const code = codeOf(error)
  if (/^(ENOTFOUND|EAI_|ENODATA)/.test(code)) return 'dns'
  if (/^HPE_/.test(code)) return 'bad_answer'
  if (/CERT|^ERR_(TLS|SSL)|^UNABLE_TO|^EPROTO|^HOSTNAME|^DEPTH_ZERO|^INVALID_CA|^CRL_/.test(code))
    return 'tls'
  return 'connection'
}

/** RFC 9110 §10.2.3: seconds or a date, as ms from `now`. */
function waitOf(header: string | undefined, now: number): number | null {
  if (header === undefined) return null
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now
  return Number.isFinite(ms) ? Math.max(0, ms) : null
}
