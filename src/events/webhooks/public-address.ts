import { lookup as systemLookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import type { Config } from '../../settings/config.ts'

// Tenants choose where webhooks send requests, so requests into the service's own network must be impossible (SSRF).
// Allowed are the addresses that the IANA special-purpose registries (RFC 6890 and successors) list as globally
// reachable. For IPv6 these lie in 2000::/3: everything outside, such as addresses mapped from IPv4, is refused.

const special = listOf('ipv4', [
  '0.0.0.0/8', // this network, unspecified
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8',
  '169.254.0.0/16', // link-local, where clouds keep their metadata
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16',
  '198.18.0.0/15', // benchmarking
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/3', // multicast, reserved, broadcast
])

const global6 = listOf('ipv6', ['2000::/3'])

const special6 = listOf('ipv6', [
  '2001::/23', // protocol assignments; Teredo among them tunnels to an embedded IPv4 address
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: tunnels to an embedded IPv4 address
  '3fff::/20', // documentation
])

/** RFC 6052: a NAT64 translator maps all of IPv4 to this prefix, private addresses included. */
const nat64 = listOf('ipv6', ['64:ff9b::/96'])

function listOf(family: 'ipv4' | 'ipv6', nets: string[]): BlockList {
  const list = new BlockList()
  for (const net of nets) {
    const [address = '', prefix] = net.split('/')
    list.addSubnet(address, Number(prefix), family)
  }
  return list
}

/** Whether a text is a globally reachable IP address, in any spelling that URLs allow. */
export function isPublicAddress(address: string): boolean {
  const plain = plainAddress(address)
  if (isIP(plain) === 4) return !special.check(plain, 'ipv4')
  if (isIP(plain) !== 6) return false
  if (nat64.check(plain, 'ipv6')) return isPublicAddress(translated(plain))
  return global6.check(plain, 'ipv6') && !special6.check(plain, 'ipv6')
}

/** The canonical spelling of an address: 127.1, 0x7f000001 and 2130706433 are all 127.0.0.1. '' for other texts. */
function plainAddress(address: string): string {
  if (!/^\[?[\da-fx.:]+\]?$/i.test(address)) return ''
  const host = address.includes(':') && !address.startsWith('[') ? `[${address}]` : address
  return bare(URL.parse(`http://${host}/`)?.hostname ?? '')
}

/** The host of a URL without the brackets of IPv6 and the trailing dot of the DNS root. */
const bare = (hostname: string) => hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')

/** The IPv4 address in the last 32 bits of an address in 64:ff9b::/96. A URL spells them in hex, with one `::`. */
function translated(address: string): string {
  const [high = '', low = ''] = address
    .replace(/^64:ff9b::/, '')
    .split(':')
    .slice(-2)
    .map(word)
  return low === '' ? `0.0.${high}` : `${high}.${low}`
}

const word = (hex: string) => {
  const value = Number.parseInt(hex || '0', 16)
  return `${value >> 8}.${value & 255}`
}

const maxLength = 2_000
const insideNames = /(^|\.)(localhost|local|internal)$/

/** Where events can be sent. */
export interface ReceiverRules {
  /** Also http and private addresses. */
  allowPrivate: boolean
  /** The only hosts, such as `example.com`, or `*.example.com` for its subdomains; any host if empty. */
  allowedHosts: readonly string[]
}

/** The rules of an installation. */
export const receiverRules = (
  config: Pick<Config, 'WEBHOOK_ALLOW_PRIVATE' | 'WEBHOOK_ALLOWED_HOSTS'>,
): ReceiverRules => ({
  allowPrivate: config.WEBHOOK_ALLOW_PRIVATE,
  allowedHosts: config.WEBHOOK_ALLOWED_HOSTS,
})

/** Whether the rules name the host of a URL. */
export function isAllowedHost(url: string, { allowedHosts }: ReceiverRules): boolean {
  const host = bare(URL.parse(url)?.hostname ?? '')
  return (
    allowedHosts.length === 0 ||
    allowedHosts.some((name) => (name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name))
  )
}

/**
 * Why events cannot be sent to a URL, as a sentence for the caller; undefined when they can. Host names are not resolved
 * here: {@link publicLookup} checks them at each connection.
 */
export function whyRefused(url: string, rules: ReceiverRules): string | undefined {
  const { allowPrivate, allowedHosts } = rules
  if (url.length > maxLength) return `Give a URL of at most ${maxLength} characters.`
  const parsed = URL.parse(url)
  // URL parsers silently drop these characters, and different parsers then read different URLs.
  if (!parsed || /[\s\p{Cc}\\]/u.test(url)) return 'Give a complete URL, such as https://example.com/events.'
  if (parsed.protocol !== 'https:' && !(allowPrivate && parsed.protocol === 'http:'))
    return 'Give a URL that starts with https://.'
  if (parsed.username !== '' || parsed.password !== '')
    return 'Give the URL without user name and password: requests are signed instead.'
  if (bare(parsed.hostname) === '') return 'Give a URL with a host.'
  if (!isAllowedHost(url, rules)) return `Give a URL of an allowed host: ${allowedHosts.join(', ')}.`
  return allowPrivate ? undefined : whyInside(bare(parsed.hostname))
}

function whyInside(host: string): string | undefined {
  if (insideNames.test(host))
    return 'Give a host on the public internet: this name belongs to a private network.'
  if (isIP(host) !== 0 && !isPublicAddress(host))
    return 'Give a host on the public internet: this address is private or reserved.'
  return undefined
}

/** Finds all addresses of a host: the shape of dns.lookup with `all`. */
export type Resolve = (
  host: string,
  options: { all: true; family?: number | 'IPv4' | 'IPv6' },
  done: (error: NodeJS.ErrnoException | null, addresses: { address: string; family: number }[]) => void,
) => void

/** A host resolves to an address that is not public. */
export class PrivateAddressError extends Error {
  override name = 'PrivateAddressError'
}

/**
 * The lookup function of a connection. It checks the same addresses that the connection uses, so a name that was public
 * when the webhook was created and is private now is refused. One private address refuses the whole host.
 */
export const publicLookup =
  (allowPrivate: boolean, resolve: Resolve = systemLookup as Resolve): LookupFunction =>
  (host, { family, all }, done) => {
    const options = family === undefined ? { all: true as const } : { all: true as const, family }
    resolve(host, options as Parameters<Resolve>[1], (error, addresses = []) => {
      const [first] = addresses
      if (error) return done(error, '')
      if (!first) return done(Object.assign(new Error('No address'), { code: 'ENOTFOUND' }), '')
      if (!allowPrivate && !addresses.every(({ address }) => isPublicAddress(address)))
        return done(new PrivateAddressError(), '')
      return all ? done(null, addresses) : done(null, first.address, first.family)
    })
  }
