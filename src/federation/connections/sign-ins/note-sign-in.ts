import { nilUuid } from '../../../crypto/uuid.ts'
import { inTenant } from '../../../database/executor/transaction.ts'
import type { Deps } from '../../../deps.ts'
import { ApiError } from '../../../errors.ts'
import { timeOrderedId } from '../../../messages/outbox/time-ordered-id.ts'
import { type Asserted, type Upstream, UpstreamError } from '../../upstream.ts'
import { type ConnectionRow, findConnection } from '../store.ts'
import { deleteSignInsBeyond, insertSignIn, sealClaims } from './store.ts'

/** How many sign-ins of a connection are kept, and as many refusals: everyone can cause these, and they push no sign-in out. */
const kept = 50
const maxClaim = 500

type Said = Pick<Asserted, 'issuer' | 'attribute' | 'subject' | 'email' | 'claims'>

/** What became of a sign-in: a person signed in, or the error that refused it. */
export type Ended = { outcome: 'signed_in' | 'joined'; userId: string } | { error: unknown }

/**
 * Notes a sign-in by a connection for those who look after it, after its transaction. `said`: what the provider said; null: its answer
 * does not hold. Nothing is noted of a provider of the installation, or of a fault of the service. Never throws.
 */
export async function noteSignIn(
  deps: Pick<Deps, 'db' | 'sealer' | 'clock' | 'log'>,
  { id: connectionId, tenantId }: Pick<Upstream, 'id' | 'tenantId'>,
  said: Said | null,
  ended: Ended,
): Promise<void> {
  const refusal = 'error' in ended ? refusalOf(ended.error) : { code: null, reason: null }
  if (tenantId === null || !refusal) return
  const at = deps.clock()
  const id = timeOrderedId(at)
  const key = { tenantId, id: connectionId }
  try {
    await inTenant(deps.db, { tenantId, userId: nilUuid }, async (tx) => {
      const connection = await findConnection(tx, key)
      if (!connection) return
      insertSignIn(tx, connectionId, {
        ...{ tenant_id: tenantId, id, at, ...refusal },
        outcome: 'error' in ended ? 'refused' : ended.outcome,
        user_id: 'error' in ended ? null : ended.userId,
        claims_sealed:
          said && sealClaims(deps.sealer, { tenant_id: tenantId, id }, claimsFor(connection, said)),
      })
      deleteSignInsBeyond(tx, { ...key, isRefused: 'error' in ended }, kept)
    })
  } catch (err) {
    deps.log.warn(
      { err, tenant_id: tenantId, connection_id: connectionId },
      'a sign-in by a connection was not noted',
    )
  }
}

/** Why a sign-in was refused, in the words for an administrator; null: the fault is ours. */
function refusalOf(error: unknown): { code: string; reason: string } | null {
  if (error instanceof UpstreamError) return { code: `provider_${error.code}`, reason: plain(error.message) }
  if (!(error instanceof ApiError) || error.status >= 500) return null
  return { code: error.code, reason: plain(typeof error.cause === 'string' ? error.cause : error.message) }
}

/** One line that Postgres takes: a message can repeat what a provider wrote. */
const plain = (text: string) =>
  text
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, 500)
    .toWellFormed()

/** What an administrator needs of the claims: those that the connection names, and who says so about whom. */
function claimsFor({ subject_attribute, mapping }: ConnectionRow, said: Said): Record<string, unknown> {
  const { issuer, attribute, subject, email, claims } = said
  const names = new Set([subject_attribute, ...mapping.map(({ claim }) => claim), 'email', 'iss', 'aud'])
  const named = Object.entries(claims).filter(([name]) => names.has(name))
  // SAML has lists of values; an address is looked for when its person is erased.
  const read = { iss: issuer, [attribute]: subject, ...(email !== null && { email }) }
  const known = { ...Object.fromEntries(named), ...read }
  return Object.fromEntries(Object.entries(known).map(([name, value]) => [name, clipped(value)]))
}

function clipped(value: unknown): unknown {
  const text = JSON.stringify(value) ?? 'null'
  return text.length <= maxClaim ? value : `${text.slice(0, maxClaim).toWellFormed()}…`
}
