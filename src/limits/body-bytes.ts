import { unavailable } from '../errors.ts'

/** Bytes of bodies that a request holds. */
export interface HeldBytes {
  /** Holds no more than this many from now on; 0 gives all back. */
  shrinkTo(bytes: number): void
}

/**
 * Counts the bytes of long bodies that a process holds, before they are read. Throws 503 `overloaded` for more than
 * `max` together, or more than a quarter of it of one tenant.
 */
export type HoldBytes = (tenantId: string, bytes: number) => HeldBytes

/** Starts to count. `max` is in bytes. */
export function createBodyBytes(max: number): HoldBytes {
  const tenants = new Map<string, number>()
  let total = 0
  const add = (tenantId: string, bytes: number) => {
    const held = (tenants.get(tenantId) ?? 0) + bytes
    total += bytes
    if (held > 0) tenants.set(tenantId, held)
    else tenants.delete(tenantId)
  }
  return (tenantId, bytes) => {
    const ofTenant = (tenants.get(tenantId) ?? 0) + bytes
    if (total + bytes > max || ofTenant > max / 4) throw tooMuch()
    add(tenantId, bytes)
    let held = bytes
    return {
      shrinkTo(fewer) {
        if (fewer >= held) return
        add(tenantId, fewer - held)
        held = fewer
      },
    }
  }
}

const tooMuch = () => unavailable('overloaded', 'Too many long bodies at once. Try again in a moment.', 1)
