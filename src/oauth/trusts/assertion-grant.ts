import { readSharedAsSystem } from '../../database/executor/read.ts'
import { asSystem } from '../../database/executor/transaction.ts'
import { wrongSecretUses } from '../../identity/rate-limits/limits.ts'
import { appendAudit } from '../../messages/audit/append-audit.ts'
import type { PageDeps } from '../../pages/sign-in/calls.ts'
import { assertionGrant, ownOf } from '../client-metadata.ts'
import type { ClientKey } from '../clients/client-id.ts'
import { recordUse } from '../clients/store.ts'
import type { Library, OidcContext, Provider } from '../provider-types.ts'
import { insertNewModel } from '../store.ts'
import { assertionChecker, type Proven, unverified } from './check-assertion.ts'
import { mismatch } from './match-claims.ts'
import { listTrustsNamed } from './store.ts'

// The grant of RFC 7523 §2.1. The client of the request is a trust: the library authenticates it by its id alone, and what it shows is checked
// here. From then on it is a machine.

const reason = 'an assertion names a service account, and no tenant'

/**
 * The trust that an assertion for a service account is about, of those in its issuer: the first one that its claims fit, else the
 * first. Null for none. Nothing of it is verified yet.
 */
export async function trustNamed(
  { db, clock }: Pick<PageDeps, 'db' | 'clock'>,
  accountId: string,
  assertion: unknown,
): Promise<ClientKey | null> {
  const claims = typeof assertion === 'string' ? unverified(assertion) : null
  const issuer = claims?.iss
  if (!claims || typeof issuer !== 'string') return null
  const found = await readSharedAsSystem(db, reason, (read) =>
    listTrustsNamed(read, { accountId, issuer, now: clock() }),
  )
  const named = found.find(({ trust }) => mismatch(trust.claims, claims) === undefined) ?? found[0]
  return named ? { tenantId: named.tenant_id, id: named.id } : null
}

export type GrantHandler = (ctx: OidcContext) => Promise<void>

interface Parts {
  deps: PageDeps
  library: Library
  /** The library's grant of a machine: `client_credentials`. */
  machine: GrantHandler
}

/** Lets the provider take assertions. */
export function takeAssertions(provider: Provider, { deps, library, machine }: Parts): void {
  const { errors } = library
  const check = assertionChecker(deps.config)
  const grant: GrantHandler = async (ctx) => {
    const { assertion } = ctx.oidc.params as Record<string, unknown>
    if (typeof assertion !== 'string') throw new errors.InvalidRequest('Give the assertion')
    const proven = await prove(ctx, assertion)
    if (!(await useOnce(ctx, proven))) throw refused('The assertion was used already')
    await machine(ctx)
  }
  provider.registerGrantType(assertionGrant, grant as never, ['assertion', 'scope', 'resource'], ['resource'])

  /** The library keeps the reason to itself; who writes a pipeline needs it. */
  const refused = (why: string) => Object.assign(new errors.InvalidGrant(why), { error_description: why })

  async function prove(ctx: OidcContext, assertion: string): Promise<Proven> {
    const { trust, trustEndsAt } = ownOf(ctx.oidc.client)
    const now = deps.clock()
    try {
      if (!trust || (trustEndsAt !== null && trustEndsAt <= now)) throw new Error('The trust is over')
      return await check(trust, assertion, now)
    } catch (error) {
      await deps.limiters.take(wrongSecretUses(ctx.state.requestInfo.ip))
      throw refused((error as Error).message)
    }
  }

  /** Notes the use in the audit log of the tenant. False if the assertion was used before. */
  function useOnce(ctx: OidcContext, { subject, id, endsAt }: Proven): Promise<boolean> {
    const client = ownOf(ctx.oidc.client)
    const { tenantId } = client
    const at = deps.clock()
    return asSystem(deps.db, reason, async (tx) => {
      const model = {
        kind: 'ReplayDetection',
        id: `${tenantId}.${id}`,
        client,
        payload: {},
        at,
        expiresAt: (endsAt + 60) * 1000,
      } as const
      if (!(await insertNewModel(tx, model))) return false
      await recordUse(tx, { client, secretHash: null }, at)
      await appendAudit(tx, {
        tenantId,
        actor: { id: client.serviceAccountId!, email: null, type: 'service_account' },
        requestInfo: ctx.state.requestInfo,
        action: 'oauth:authorize',
        target: { type: 'oauth_client', id: client.id },
        changes: {
          issuer: { before: null, after: client.trust!.issuer },
          sub: { before: null, after: subject },
        },
        at,
      })
      return true
    })
  }
}
