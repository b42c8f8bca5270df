import { asSystem } from '../../database/executor/transaction.ts'
import { endOldestGrants } from '../../identity/sessions/end-session.ts'
import { holdSignIn, insertGrantSession } from '../../identity/sessions/store.ts'
import { holdConnection } from '../../identity/sign-in/way-store.ts'
import { appendEvent } from '../../messages/outbox/append-event.ts'
import { timeOrderedId } from '../../messages/outbox/time-ordered-id.ts'
import type { Here, PageDeps } from '../../pages/sign-in/calls.ts'
import { holdActiveMember } from '../../tenancy/members/person-store.ts'
import { clientIdOf, isOfManifest } from '../clients/client-id.ts'
import { redirectHost } from '../clients/client-schemas.ts'
import { keepConsent } from '../consents.ts'
import {
  isOfDevice,
  type Library,
  type OidcContext,
  type OwnGrant,
  type Provider,
  type RequestState,
} from '../provider-types.ts'
import { ownClient, sidOf } from '../tenant-of-request.ts'
import type { Granting } from '../tokens/grantable.ts'

interface Granted {
  deps: PageDeps
  ctx: OidcContext
  library: Library
}

/** A grant whose code is never exchanged leaves no session behind: the exchange makes it last. */
const unusedMs = 600_000

/**
 * A grant of its own for this authorization. With `offline_access`, or of a device, it has its own session, else the browser's.
 * Throws 401 `session_revoked`, and `access_denied`, if the session or the membership ended meanwhile.
 */
export async function giveGrant(
  { deps, ctx, library }: Granted,
  provider: Provider,
  { here, granting, keeps }: { here: Here; granting: Granting; keeps: boolean },
): Promise<OwnGrant> {
  const client = ownClient(ctx)
  const { tenantId } = client
  const { userId } = here
  const at = deps.clock()
  const isOffline = granting.identity.includes('offline_access') || isOfDevice(ctx)
  const sessionId = isOffline ? timeOrderedId(at) : here.sessionId
  const clientId = clientIdOf(client)
  const { oauth: state, requestInfo } = ctx.state as RequestState
  const { requestId, ip, userAgent } = requestInfo
  const from = isOfDevice(ctx) ? sessionId : here.sessionId
  const sid = sidOf(from, client)
  const made = new provider.Grant({ accountId: userId, clientId }) as OwnGrant
  made.auth = {
    gid: timeOrderedId(at),
    tenantId: isOfManifest(client.id) ? tenantId : undefined,
    sessionId,
    browserSessionId: from === sessionId ? undefined : from,
    sid,
    acr: here.acr,
    amr: here.amr,
    authTime: here.authTime,
    membershipId: here.membershipId,
    ip,
    userAgent,
    redirectHost: redirectHost(ctx.oidc.params?.redirect_uri),
  }
  made.addOIDCScope(granting.identity.join(' '))
  for (const [resource, scopes] of granting.resources) made.addResourceScope(resource, scopes.join(' '))
  await asSystem(deps.db, 'an authorization is of the browser, in the tenant of a client', async (tx) => {
    if (here.connection) holdConnection(tx, here.connection)
    // What ends the session, or suspends or removes the member, comes first, or finds the grant.
    await holdSignIn(tx, { userId, sessionId: here.sessionId, familyId: null, token: 'access' })
    if (!(await holdActiveMember(tx, { tenantId, id: here.membershipId })))
      throw new library.errors.AccessDenied('The person is no active member any more')
    const name = ctx.oidc.client?.clientName ?? ''
    if (isOffline) {
      insertGrantSession(tx, {
        id: sessionId,
        from: here.sessionId,
        tenantId,
        name,
        at,
        until: at + unusedMs,
      })
      await endOldestGrants(tx, { userId, tenantId, requestId, at })
    }
    state.tx = tx
    await made.save()
    state.tx = null
    if (keeps) keepConsent(tx, client, { userId, scopes: granting.consented, at })
    const event = {
      tenantId,
      subject: client.id,
      data: { client_id: clientId, user_id: userId },
      actorId: userId,
      requestId,
      at,
    }
    if (keeps) await appendEvent(tx, { ...event, type: 'application.consent_given' })
    await appendEvent(tx, { ...event, type: 'application.grant_created' })
  })
  Object.assign(ctx.oidc.session!, {
    uid: sessionId,
    authorizations: { [clientId]: { sid, grantId: made.jti } },
  })
  return made
}
