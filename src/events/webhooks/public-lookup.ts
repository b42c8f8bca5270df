import { lookup as systemLookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { isPublicAddress } from './public-address.ts'

/** Finds the addresses of a host, all of them; the shape of dns.lookup with `all`. */
export type Resolve = (
  host: string,
  options: { all: true; family?: number | 'IPv4' | 'IPv6' },
  done: (error: NodeJS.ErrnoException | null, addresses: { address: string; family: number }[]) => void,
) => void

/** A host has an address that nothing is sent to. */
export class PrivateAddress extends Error {
  override name = 'PrivateAddress'
}

/**
 * The lookup of a connection, which goes to the very addresses that were judged: a name that was public when the
 * webhook was made and is private now leads nowhere. One address inside is enough to refuse all of them.
 */
export const publicLookup =
  (allowPrivate: boolean, resolve: Resolve = systemLookup as Resolve): LookupFunction =>
  (host, { family, all }, done) => {
    const asked = family === undefined ? { all: true as const } : { all: true as const, family }
    resolve(host, asked as Parameters<Resolve>[1], (error, addresses = []) => {
      const [first] = addresses
      if (error) return done(error, '')
      if (!first) return done(Object.assign(new Error('No address'), { code: 'ENOTFOUND' }), '')
      if (!allowPrivate && !addresses.every(({ address }) => isPublicAddress(address)))
        return done(new PrivateAddress(), '')
      return all ? done(null, addresses) : done(null, first.address, first.family)
    })
  }
