import type { GrantedProfile } from './api-types.ts'
import type { PersonalKeyCaller, ServiceAccountCaller } from './caller.ts'
import type { Client } from './client.ts'
import { bearer } from './credentials.ts'
import type { AnswerOf } from './operations.ts'

/** The holder of a key; `isFull` if the key can be used at the service itself, and not at applications only. */
export interface KnownKey {
  caller: PersonalKeyCaller | ServiceAccountCaller
  isFull: boolean
}

const keptMs = 10_000
const maxKept = 1_000

export const isKeyLike = (token: string): boolean => token.startsWith('bwk_')

/**
 * Makes a function that asks the service whose a key is. It keeps an answer for 10 s, so a revoked key counts for that
 * long where no decision is asked for. It rejects as a call does, after `deadlineMs` at the latest.
 */
export function keyReader(client: Client, deadlineMs: number): (key: string) => Promise<KnownKey> {
  const kept = new Map<string, { until: number; reading: Promise<KnownKey> }>()

  return (key) => {
    const now = performance.now()
    // Older keys come first, and all are kept for the same time.
    for (const [old, { until }] of kept) {
      if (until > now && kept.size < maxKept) break
      kept.delete(old)
    }
    const known = kept.get(key)
    if (known) return known.reading
    const reading = client
      .as(bearer(key))
      .call('GET /users/me/', { deadlineMs })
      .then((profile) => knownKey(profile as HolderProfile))
    const entry = { until: now + keptMs, reading }
    kept.set(key, entry)
    reading.catch(() => {
      if (kept.get(key) === entry) kept.delete(key)
    })
    return reading
  }
}

/** What a key reads. The tokens of applications read another profile. */
type HolderProfile = Exclude<AnswerOf<'GET /users/me/'>, GrantedProfile>

function knownKey(profile: HolderProfile): KnownKey {
  const { id, current_tenant, roles, permissions, key } = profile
  // A service before 0.3 does not say what the key is for.
  const { id: keyId = '', scopes = null, application_only = false } = key ?? {}
  const common = { sub: id, tenant_id: current_tenant.id, roles, permissions, key: { id: keyId, scopes } }
  const caller =
    'type' in profile
      ? { kind: 'service_account' as const, ...common, name: profile.name }
      : { kind: 'personal_key' as const, ...common, email: profile.email }
  return { caller, isFull: !application_only }
}
