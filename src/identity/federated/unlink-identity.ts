import { isUnusable } from '../../crypto/passwords.ts'
import { asSystem } from '../../database/executor/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, notFound } from '../../errors.ts'
import { appendAudit, changesBetween, doneBy } from '../../messages/audit/append-audit.ts'
import { endTokens } from '../../messages/links/link-store.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import type { Caller } from '../../request/caller.ts'
import { assertFreshSession } from '../sessions/fresh-authentication.ts'
import { notifyPerson } from '../users/notify-people.ts'
import { lockUser } from '../users/store.ts'
import { providerOf } from './identity-schemas.ts'
import { findIdentityOf, findOtherWays } from './list-store.ts'
import { deleteIdentity } from './store.ts'

const lastFactor = () =>
  new ApiError(
    409,
    'last_factor',
    'You have no other way to sign in. Set a password with “Forgot password?”, or add a passkey, first.',
  )

/**
 * Unlinks an identity of the caller. 401 without a fresh sign-in or second factor, 404 for an id that is not theirs, 409 `last_factor`
 * if they have nothing else to sign in with: a password, a passkey that counts, another identity whose provider is on, or links by mail.
 */
export async function unlinkIdentity(deps: Deps, caller: Caller, id: string): Promise<undefined> {
  const { config, clock, db, sealer } = deps
  const { userId, tokenTenantId: tenantId, requestInfo, auth } = caller
  const at = clock()
  assertFreshSession(caller, at)
  await asSystem(db, 'the ways in of a person are no rows of a tenant', async (tx) => {
    await lockUser(tx, userId)
    const identity = await findIdentityOf(tx, userId, id)
    if (!identity) throw notFound()
    const providers = config.SOCIAL_PROVIDERS
    const ways = await findOtherWays(tx, { userId, id, at, providers: providers.map((one) => one.id) })
    const hasOther =
      !isUnusable(ways.password_hash) ||
      (config.PASSKEYS_ENABLED && ways.has_passkey) ||
      ways.has_identity ||
      config.MAGIC_LINK_ENABLED
    if (!hasOther) throw lastFactor()
    await deleteIdentity(tx, { id, userId })
    await endTokens(tx, { purpose: 'identity_undo', userId, targetId: id, at })
    const { provider } = identity
    await appendEvent(tx, {
      type: 'identity.identity_unlinked',
      tenantId,
      subject: userId,
      data: { user_id: userId, identity_id: id, provider },
      actorId: userId,
      requestId: requestInfo.requestId,
      at,
    })
    await appendAudit(tx, {
      ...doneBy(caller, at),
      action: 'identity:delete',
      target: { type: 'identity', id },
      changes: changesBetween({ provider, email: identity.email }, null),
    })
    const { name } = providerOf(providers, identity)
    const variables = { firstName: auth.user.firstName, provider: name ?? provider }
    const mail = { tenantId, template: 'identity_unlinked', variables } as const
    await notifyPerson(tx, sealer, userId, { ...mail, requestInfo, at })
  })
}
