import { isIPv4, isIPv6 } from 'node:net'

interface Address {
  /** 4 numbers of 8 bits, or 8 of 16 */
  parts: number[]
  bits: 8 | 16
}

/**
 * The canonical spelling of an IP address: IPv4 dotted, IPv6 as eight groups, IPv4-mapped as IPv4. Undefined for
 * anything else, scoped addresses included.
 */
export function canonicalAddress(text: string): string | undefined {
  const address = parsed(text)
  return address && printed(unmapped(address))
}

/**
 * The canonical spelling of a network, with the host bits cleared. A bare address is a network of one address.
 * Undefined for anything else and for IPv4-mapped networks. Policies get networks in this form only: to the module
 * a malformed prefix contains every address.
 */
export function canonicalNetwork(text: string): string | undefined {
  const [before, prefix, ...more] = text.split('/') as [string, ...string[]]
  const address = parsed(before)
  if (!address || more.length > 0) return undefined
  if (prefix === undefined) return whole(unmapped(address))
  const length = /^(0|[1-9]\d{0,2})$/.test(prefix) ? Number(prefix) : Number.NaN
  if (isMapped(address) || !(length <= address.parts.length * address.bits)) return undefined
  return `${printed({ ...address, parts: masked(address, length) })}/${length}`
}

const whole = (address: Address) => `${printed(address)}/${address.parts.length * address.bits}`

function parsed(text: string): Address | undefined {
  if (isIPv4(text)) return { parts: text.split('.').map(Number), bits: 8 }
  if (!isIPv6(text) || text.includes('%')) return undefined
  return { parts: groups(text), bits: 16 }
}

// RFC 4291 §2.2: one run of zeros can be left out, the last 32 bits can be dotted.
function groups(text: string): number[] {
  const dotted = text.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_all, a, b, c, d) =>
    [a * 256 + +b, c * 256 + +d].map((group) => group.toString(16)).join(':'),
  )
  const [head = '', tail] = dotted.split('::')
  const numbers = (part = '') =>
    part
      .split(':')
      .filter(Boolean)
      .map((group) => Number.parseInt(group, 16))
  const [first, last] = [numbers(head), numbers(tail)]
  return [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last]
}

const isMapped = ({ parts, bits }: Address) =>
  bits === 16 && parts[5] === 0xffff && parts.slice(0, 5).every((group) => group === 0)

function unmapped(address: Address): Address {
  if (!isMapped(address)) return address
  const [high = 0, low = 0] = address.parts.slice(6)
  return { parts: [high >> 8, high & 255, low >> 8, low & 255], bits: 8 }
}

function masked({ parts, bits }: Address, length: number): number[] {
  return parts.map((part, index) => {
    const kept = Math.min(Math.max(length - index * bits, 0), bits)
    return part & (((1 << kept) - 1) << (bits - kept))
  })
}

const printed = ({ parts, bits }: Address) =>
  bits === 8 ? parts.join('.') : parts.map((group) => group.toString(16)).join(':')
