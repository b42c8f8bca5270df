import type { Deps } from '../../deps.ts'
import { readAsSystem } from '../../platform/db/read.ts'
import { inTenant } from '../../platform/db/transaction.ts'
import type { RequestInfo } from '../../platform/http/request-info.ts'
import { timeOrderedId } from '../../platform/outbox/time-ordered-id.ts'
import { listMembershipsOf, type Membership } from '../../tenancy/members/store.ts'
import { createPersonalTenant } from '../../tenancy/tenants/create-tenant.ts'
import { assertEnterable, choosePlace } from '../sessions/enter-tenant.ts'
import type { TokenPair } from '../sessions/issue-tokens.ts'
import type { OtpRequired } from '../sessions/second-factor.ts'
import { signIn } from '../sessions/sign-in.ts'
import { checkPassword, type Person } from './check-password.ts'

export interface LoginBody {
  email: string
  password: string
  tenant_id?: string | undefined
}

/**
 * Logs a person in: to the tenant asked for, else where they were last; or asks for a second factor first. 401 `invalid_credentials` in the same form
 * and time for unknown, wrong and inactive; 403 for a tenant they may not enter, said only after the right password.
 */
export async function login(
  deps: Deps,
  requestInfo: RequestInfo,
  body: LoginBody,
): Promise<TokenPair | OtpRequired> {
  const person = await checkPassword(deps, body)
  const place = await findPlace(deps, person, body.tenant_id, requestInfo)
  return signIn(deps, person, place, requestInfo)
}

async function findPlace(
  deps: Deps,
  person: Person,
  tenantId: string | undefined,
  requestInfo: RequestInfo,
): Promise<Membership> {
  const places = await readAsSystem(deps.db, 'no tenant is known yet', (read) =>
    listMembershipsOf(read, person.id),
  )
  const place = tenantId === undefined ? choosePlace(places) : places.find((p) => p.tenant_id === tenantId)
  if (tenantId === undefined && !place) return foundPlace(deps, person, requestInfo)
  assertEnterable(place)
  return place
}

/** Somebody who belongs nowhere any more gets a personal tenant, as at registration. */
async function foundPlace(deps: Deps, person: Person, requestInfo: RequestInfo): Promise<Membership> {
  const at = deps.clock()
  const id = timeOrderedId(at)
  await inTenant(deps.db, { tenantId: id, userId: person.id }, (tx) =>
    createPersonalTenant(tx, { id, founder: person, requestInfo, at }),
  )
  const places = await readAsSystem(deps.db, 'no tenant is known yet', (read) =>
    listMembershipsOf(read, person.id),
  )
  const place = choosePlace(places)
  assertEnterable(place)
  return place
}
