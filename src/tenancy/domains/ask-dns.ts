import { Resolver } from 'node:dns/promises'

/** How long a resolver has for an answer, in ms, and how often it is asked. */
const patience = { timeout: 2_000, tries: 2 }

/**
 * Whether a TXT record says `value`. It is asked of the first two of `resolvers` (`192.0.2.1:53`), which must agree, so that an answer
 * forged at one of them is not enough; without any, of the system's. A resolver that does not answer has seen no record.
 */
export async function hasTextRecord(
  resolvers: readonly string[],
  { name, value }: { name: string; value: string },
): Promise<boolean> {
  const asked = resolvers.length > 0 ? resolvers.slice(0, 2) : [null]
  const seen = await Promise.all(asked.map((server) => hasRecordAt(server, name, value)))
  return seen.every(Boolean)
}

async function hasRecordAt(server: string | null, name: string, value: string): Promise<boolean> {
  const resolver = new Resolver(patience)
  if (server !== null) resolver.setServers([server])
  try {
    const records = await resolver.resolveTxt(name)
    return records.some((parts) => parts.join('') === value)
  } catch {
    return false
  }
}
