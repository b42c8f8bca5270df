import { isIP } from 'node:net'

/** True for a loopback IP address, written without brackets. */
export const isLoopbackAddress = (address: string): boolean =>
  address === '::1' || (isIP(address) === 4 && address.startsWith('127.'))

/** An address as a browser on this machine opens it: with `localhost`, because browsers refuse passkeys for IP addresses. */
export function browserUrl(address: string): URL {
  const url = new URL(address)
  if (isIP(url.hostname.replace(/^\[|\]$/g, ''))) url.hostname = 'localhost'
  return url
}

/** True when the host of a URL is a loopback address or a name reserved for one (RFC 6761 §6.3). */
export function isLoopbackHost(host: string): boolean {
  const bare = host.toLowerCase().replace(/^\[|\]$/g, '')
  return bare === 'localhost' || bare.endsWith('.localhost') || isLoopbackAddress(bare)
}
