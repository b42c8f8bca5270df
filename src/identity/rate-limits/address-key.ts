import { isIP } from 'node:net'

/**
 * The key that counts an IP address: an IPv4 address itself, or the /64 of an IPv6 address, because a customer gets at
 * least a /64 and could use a new address for each attempt. Two spellings of an address give one key.
 */
export function addressKey(ip: string): string {
  const [address = ''] = ip.toLowerCase().split('%')
  if (isIP(address) !== 6) return address
  return `${groupsOf(address).slice(0, 4).join(':')}::/64`
}

/** The eight groups without leading zeros; a dotted IPv4 tail counts as two groups. */
function groupsOf(address: string): string[] {
  const [left = [], right] = address.split('::').map((half) => half.split(':').filter(Boolean))
  const width = (groups: string[]) => groups.length + groups.filter((group) => group.includes('.')).length
  const gap = right ? 8 - width(left) - width(right) : 0
  return [...left, ...Array<string>(gap).fill('0'), ...(right ?? [])].map((group) =>
    group.replace(/^0+(?=.)/, ''),
  )
}
