import { randomUUID } from 'node:crypto'
import { BlockList, isIP } from 'node:net'
import type { Context } from 'koa'
import { isTraceparent } from '../observe/tracing/traceparent.ts'

/** The origin of a request, for sessions, events and logs. */
export interface RequestInfo {
  requestId: string
  ip: string
  userAgent: string
  /** The `Accept-Language`, for mails to a person whose language is not known. */
  languages?: string
  traceparent: string | null
}

const requestIdForm = /^[A-Za-z0-9._-]{1,128}$/

/**
 * Makes the reader of request info. `X-Forwarded-For` counts only behind the proxies named (addresses or CIDRs). Calls
 * `onIgnored` once if the header arrives and no proxy is named.
 */
export function requestInfoReader(
  trustedProxies: readonly string[],
  onIgnored: () => void = () => undefined,
): (ctx: Context) => RequestInfo {
  const trusted = blockList(trustedProxies)
  let reported = trustedProxies.length > 0
  return (ctx) => {
    const forwardedFor = ctx.get('x-forwarded-for')
    if (forwardedFor && !reported) {
      reported = true
      onIgnored()
    }
    const given = ctx.get('x-request-id')
    const traceparent = ctx.get('traceparent')
    return {
      requestId: requestIdForm.test(given) ? given : randomUUID(),
      ip: clientAddress(ctx.req.socket.remoteAddress ?? '', forwardedFor, trusted),
      userAgent: printable(ctx.get('user-agent')).slice(0, 500),
      languages: printable(ctx.get('accept-language')).slice(0, 200),
      traceparent: isTraceparent(traceparent) ? traceparent : null,
    }
  }
}

/** The nearest hop that is not a trusted proxy. Clients can forge the entries to the left of it. */
function clientAddress(peer: string, forwardedFor: string, trusted: (address: string) => boolean): string {
  let client = unmapped(peer)
  const hops = forwardedFor
    .slice(-2_000) // proxies append, so only the client's own part of a long header is cut
    .split(',')
    .map((hop) => unmapped(hop.trim()))
  while (trusted(client) && hops.length > 0) {
    const hop = hops.pop()!
    if (!isIP(hop)) break
    client = hop
  }
  return client
}

const unmapped = (address: string) => address.replace(/^::ffff:(?=\d+\.)/i, '')

function blockList(entries: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return (address) => isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const printable = (text: string) => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
