import { BlockList, isIP } from 'node:net'

// A webhook makes the service send requests where a tenant says: never into its own network. What may be reached is
// what the registries of IANA for special-purpose addresses (RFC 6890 and its successors) call globally reachable.
// Of IPv6 that is 2000::/3 alone, so anything outside it, yet to be invented or mapped from IPv4, is refused unread.

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
  '2001::/23', // protocol assignments, Teredo among them: a tunnel to an IPv4 address that is hidden in it
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: a tunnel, too
  '3fff::/20', // documentation
])

/** RFC 6052: behind a translator the whole IPv4 internet is here, and with it what is private in IPv4. */
const nat64 = listOf('ipv6', ['64:ff9b::/96'])

function listOf(family: 'ipv4' | 'ipv6', nets: string[]): BlockList {
  const list = new BlockList()
  for (const net of nets) {
    const [address = '', prefix] = net.split('/')
    list.addSubnet(address, Number(prefix), family)
  }
  return list
}

/** Whether an IP address, in any spelling that a URL may have, is globally reachable; false for what is none. */
export function isPublicAddress(address: string): boolean {
  const plain = plainAddress(address)
  if (isIP(plain) === 4) return !special.check(plain, 'ipv4')
  if (isIP(plain) !== 6) return false
  if (nat64.check(plain, 'ipv6')) return isPublicAddress(translated(plain))
  return global6.check(plain, 'ipv6') && !special6.check(plain, 'ipv6')
}

/** The one spelling of an address: 127.1, 0x7f000001 and 2130706433 are all 127.0.0.1. */
function plainAddress(address: string): string {
  if (!/^\[?[\da-fx.:]+\]?$/i.test(address)) return ''
  const host = address.includes(':') && !address.startsWith('[') ? `[${address}]` : address
  return bare(URL.parse(`http://${host}/`)?.hostname ?? '')
}

/** A host as it stands in a URL, without the brackets of IPv6 and the dot of the root. */
const bare = (hostname: string) => hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')

/** The IPv4 address in the last 32 bits of one under 64:ff9b::/96, which a URL spells with one `::` and in hex. */
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

const longest = 2_000
const insideNames = /(^|\.)(localhost|local|internal)$/

/**
 * Why events are not sent to a URL, as a sentence for whoever gave it; undefined where they are. With `allowPrivate`
 * http and addresses inside are let pass. A name is not looked up: that is done, and judged, when it is connected to.
 */
export function whyRefused(url: string, allowPrivate: boolean): string | undefined {
  if (url.length > longest) return `Give an address of at most ${longest} characters.`
  const parsed = URL.parse(url)
  // What a URL parser drops without a word would be read otherwise by the next one.
  if (!parsed || /[\s\p{Cc}\\]/u.test(url)) return 'Give a whole URL, such as https://example.com/events.'
  if (parsed.protocol !== 'https:' && !(allowPrivate && parsed.protocol === 'http:'))
    return 'Give a URL that begins with https://.'
  if (parsed.username !== '' || parsed.password !== '')
    return 'Give the URL without a user name and password: requests are signed instead.'
  if (bare(parsed.hostname) === '') return 'Give a URL with a host.'
  return allowPrivate ? undefined : whyInside(bare(parsed.hostname))
}

function whyInside(host: string): string | undefined {
  if (insideNames.test(host))
    return 'Give a host of the public internet: this name is for one inside a network.'
  if (isIP(host) !== 0 && !isPublicAddress(host))
    return 'Give a host of the public internet: this address is private or reserved.'
  return undefined
}
