import type { Metrics } from '../metrics/metrics.ts'
import { createPasswordHasher, type HashLimits, type PasswordHasher } from './passwords.ts'

/** Makes a hasher whose hashes, refusals and load are counted. */
export async function createMeasuredHasher(metrics: Metrics, limits?: HashLimits): Promise<PasswordHasher> {
  const { passwordHashed: hashed, passwordRefused: refused } = metrics
  const passwords = await createPasswordHasher({ ...limits, hashed, refused })
  metrics.sample(() =>
    Object.entries(passwords.load()).flatMap(([state, { now, most }]) => [
      { gauge: 'hashes', labels: { state }, value: now },
      { gauge: 'hashesMax', labels: { state }, value: most },
    ]),
  )
  return passwords
}
