import type { Deps } from '../../deps.ts'
import { appendAudit } from '../../platform/audit/append-audit.ts'
import { asSystem, inTenant } from '../../platform/db/transaction.ts'
import type { Origin } from '../../platform/http/origin.ts'
import { appendEvent } from '../../platform/outbox/append-event.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { listPlacesOf, noteEntry, type Place } from '../../tenancy/members/store.ts'
import { foundPersonalTenant } from '../../tenancy/tenants/create-tenant.ts'
import { assertEnterable, choosePlace } from '../sessions/enter-tenant.ts'
import { beginFamily, issueTokens, type TokenPair } from '../sessions/issue-tokens.ts'
import { insertSession } from '../sessions/store.ts'
import { checkPassword, type Person } from './check-password.ts'

export interface LoginBody {
  email: string
  password: string
  tenant_id?: string | undefined
}

/**
 * Logs a person in: to the tenant asked for, else where they were last. 401 `invalid_credentials` in the same form
 * and time for unknown, wrong and inactive; 403 for a tenant they may not enter, said only after the right password.
 */
export async function login(deps: Deps, origin: Origin, body: LoginBody): Promise<TokenPair> {
  const person = await checkPassword(deps, body)
  const place = await findPlace(deps, person, body.tenant_id, origin)
  return signIn(deps, person, place, origin)
}

/** Signs in a person whose password was right just now, to a place that admits them. */
export async function signIn(
  deps: Deps,
  person: { id: string; email: string },
  place: Place,
  origin: Origin,
): Promise<TokenPair> {
  return issueTokens(deps, await openSession(deps, person, place, origin), deps.clock())
}

async function findPlace(
  deps: Deps,
  person: Person,
  tenantId: string | undefined,
  origin: Origin,
): Promise<Place> {
  const places = await asSystem(deps.db, 'no tenant is known yet', (tx) => listPlacesOf(tx, person.id))
  const place = tenantId === undefined ? choosePlace(places) : places.find((p) => p.tenant_id === tenantId)
  if (tenantId === undefined && !place) return foundPlace(deps, person, origin)
  assertEnterable(place)
  return place
}

/** Somebody who belongs nowhere any more gets a personal tenant, as at registration. */
async function foundPlace(deps: Deps, person: Person, origin: Origin): Promise<Place> {
  const at = deps.clock()
  const id = timeOrderedId(at)
  await inTenant(deps.db, { tenantId: id, userId: person.id }, (tx) =>
    foundPersonalTenant(tx, { id, founder: person, origin, at }),
  )
  const places = await asSystem(deps.db, 'no tenant is known yet', (tx) => listPlacesOf(tx, person.id))
  const place = choosePlace(places)
  assertEnterable(place)
  return place
}

function openSession(deps: Deps, person: { id: string; email: string }, place: Place, origin: Origin) {
  const now = deps.clock()
  const sessionId = timeOrderedId(now)
  const tenantId = place.tenant_id
  const entitled = {
    sessionId,
    userId: person.id,
    email: person.email,
    tenantId,
    roles: place.roles,
    acr: 'aal1',
    amr: ['pwd'],
    authTime: now,
    expiresAt: now + deps.config.REFRESH_TOKEN_ABSOLUTE_VALIDITY_SECONDS * 1000,
  } as const
  return asSystem(deps.db, 'a session begins before its tenant is in force', async (tx) => {
    await insertSession(tx, {
      ...entitled,
      id: sessionId,
      at: now,
      userAgent: origin.userAgent,
      ip: origin.ip,
    })
    await noteEntry(tx, { tenantId, userId: person.id, at: now })
    await appendEvent(tx, {
      type: 'identity.login_succeeded',
      tenantId,
      subject: person.id,
      data: { user_id: person.id, session_id: sessionId },
      actorId: person.id,
      requestId: origin.requestId,
      at: now,
    })
    await appendAudit(tx, {
      tenantId,
      actor: person,
      origin,
      action: 'session:create',
      target: { type: 'session', id: sessionId },
      at: now,
    })
    return beginFamily(deps, tx, entitled, now)
  })
}
