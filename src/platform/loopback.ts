import { isIP } from 'node:net'

/** Whether an IP address, without brackets, is this machine's own loopback. */
export const isLoopbackAddress = (address: string): boolean =>
  address === '::1' || (isIP(address) === 4 && address.startsWith('127.'))

/** Whether the host of a URL is this machine, by address or by a name that always means it (RFC 6761 §6.3). */
export function isLoopbackHost(host: string): boolean {
  const bare = host.toLowerCase().replace(/^\[|\]$/g, '')
  return bare === 'localhost' || bare.endsWith('.localhost') || isLoopbackAddress(bare)
}
