import { isIP } from 'node:net'

/** True for a loopback IP address, written without brackets. */
export const isLoopbackAddress = (address: string): boolean =>
  address === '::1' || (isIP(address) === 4 && address.startsWith('127.'))

/** What {@link browserUrl} gives for a service that listens on this machine alone. */
export const developmentUrl = /^https?:\/\/localhost:\d+$/

/**
 * An address without a path as a browser on this machine opens it: with `localhost` for a loopback address, because
 * browsers refuse passkeys for IP addresses.
 */
export function browserUrl(address: string): string {
  const url = new URL(address)
  if (isLoopbackHost(url.hostname)) url.hostname = 'localhost'
  return url.origin
}

/** True when the host of a URL is a loopback address or a name reserved for one (RFC 6761 §6.3). */
export function isLoopbackHost(host: string): boolean {
  const bare = host.toLowerCase().replace(/^\[|\]$/g, '')
  return bare === 'localhost' || bare.endsWith('.localhost') || isLoopbackAddress(bare)
}
