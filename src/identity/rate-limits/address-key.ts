import { isIP } from 'node:net'

/**
 * What counts as one address: an IPv4 address, or the /64 in which an IPv6 address lies, for a customer is given at
 * least as much and could have a new address for every attempt. Two spellings of an address give one key.
 */
export function addressKey(ip: string): string {
  const [address = ''] = ip.toLowerCase().split('%')
  if (isIP(address) !== 6) return address
  return `${groupsOf(address).slice(0, 4).join(':')}::/64`
}

/** The eight groups without leading zeros; a dotted tail stands for two of them. */
function groupsOf(address: string): string[] {
  const [left = [], right] = address.split('::').map((half) => half.split(':').filter(Boolean))
  const width = (groups: string[]) => groups.length + groups.filter((group) => group.includes('.')).length
  const gap = right ? 8 - width(left) - width(right) : 0
  return [...left, ...Array<string>(gap).fill('0'), ...(right ?? [])].map((group) =>
    group.replace(/^0+(?=.)/, ''),
  )
}
