import type { Read } from '../../database/executor/read.ts'
import type { Deps } from '../../deps.ts'
import { insufficientAuthentication } from '../../errors.ts'
import type { SubjectType } from '../../policy-engine/evaluate/query.ts'
import type { Application, AuthContext, Bearer, LoadAuthContext } from '../../request/caller.ts'
import type { StoredDeps } from '../../request/change/stored-call.ts'
import type { Config } from '../../settings/config.ts'
import { findKeyContext } from '../api-keys/find-key-context.ts'
import { loadImpersonation } from '../impersonation/load-impersonation.ts'
import { channelsOn } from '../otp/channels.ts'
import {
  type AuthContextRow,
  findAuthContext,
  findGrantContext,
  findHolderContext,
  findMachineContext,
  findPendingAuthContext,
  findRequesterContext,
  isOverHere,
} from './context-store.ts'
import { isCounting } from './counting-factor.ts'
import { connectionOf } from './store.ts'

/** Reads the context of a token's bearer. The scope of `read` is exactly that tenant and person. */
export const authContextLoader =
  ({ clock, config, db, apiKeys }: Pick<Deps, 'clock' | 'config' | 'db' | 'apiKeys'>): LoadAuthContext =>
  async (read, bearer) => {
    const now = clock()
    const { impersonatorId, application } = bearer
    if (application && bearer.subjectType === 'service_account')
      return loadMachine(read, { ...bearer, application }, config)
    if (application) return loadApplication(read, { ...bearer, application }, { now, config })
    if (bearer.token === 'key') {
      const found = await findKeyContext(read, bearer, now)
      if (!found) return null
      apiKeys.noteUse({ tenantId: bearer.tenantId, id: bearer.sessionId, at: now }, found.lastUsedAt)
      return keyContextOf(authContextOf(found.row, config), bearer.subjectType, found.scopes)
    }
    if (impersonatorId !== undefined) {
      const both = await loadImpersonation(db, read, { ...bearer, impersonatorId }, now)
      return both && impersonationOf(authContextOf(both.member, config), both.actor)
    }
    const find = bearer.token === 'otp_pending' ? findPendingAuthContext : findAuthContext
    const row = await find(read, { ...bearer, now })
    return row && authContextOf(row, config)
  }

/**
 * What an application may do for a person now: the scopes of its token that its client still has. The token says how the person
 * had signed in for it: a step-up elsewhere does not count. Null if the grant is over, the client disabled, or the membership
 * another one than then.
 */
async function loadApplication(
  read: Read,
  { userId, tenantId, sessionId: grantId, application }: Bearer & { application: Application },
  { now, config }: { now: number; config: Config },
): Promise<AuthContext | null> {
  const { clientId, scopes, acr, amr, authTime } = application
  const row = await findGrantContext(read, { userId, tenantId, grantId, clientId, now })
  if (!row || (row.membership_id !== null && row.membership_id !== row.granted_membership_id)) return null
  const context = authContextOf(row, config)
  const at = authTime * 1000
  const shown = shownBy(row, { acr, amr: [...amr], second_factor_at: acr === 'aal2' ? at : null })
  if (shown.acr === 'aal1' && context.tenant?.requireMfa)
    throw insufficientAuthentication('aal2', null, 'This tenant requires a second factor: authorize again.')
  return {
    ...context,
    session: { ...context.session, ...shown, authTime: at },
    scopes: scopes.filter((scope) => row.client_scopes.includes(scope)),
  }
}

/**
 * What a machine may do now as its service account: the scopes of its token that its client still has. Null if the account is
 * disabled or deleted, the client too, or it acts as another account.
 */
async function loadMachine(
  read: Read,
  { userId, tenantId, application, subjectType }: Bearer & { application: Application },
  config: Config,
): Promise<AuthContext | null> {
  const { clientId, scopes } = application
  const row = await findMachineContext(read, { userId, tenantId, clientId })
  if (!row || row.membership_status === 'suspended') return null
  const left = scopes.filter((scope) => row.client_scopes.includes(scope))
  return { ...keyContextOf(authContextOf(row, config), subjectType, left), keyMakerId: row.client_made_by }
}

/** A key, or a machine, cannot authenticate again, so it meets no step-up. */
const keyContextOf = (
  { user, session, ...context }: AuthContext,
  type: SubjectType,
  scopes: readonly string[] | null,
): AuthContext => ({
  ...context,
  user: { ...user, type },
  session: { ...session, attainableAcr: null },
  scopes,
})

/** The session is the actor's. It cannot be raised while they act as another member. */
const impersonationOf = (context: AuthContext, actor: AuthContextRow): AuthContext => ({
  ...context,
  session: { ...context.session, attainableAcr: null },
  impersonator: {
    id: actor.user_id,
    email: actor.email,
    emailVerified: actor.email_verified,
    membership: membershipOf(actor, actor.membership_id!)!,
  },
})

/** Reads the context of the holder of a code or token of an application. As the system role. */
export async function loadHolder(
  read: Read,
  { clock, config }: Pick<Deps, 'clock' | 'config'>,
  holder: { userId: string; tenantId: string; grantKey: string },
): Promise<AuthContext | null> {
  const row = await findHolderContext(read, { ...holder, now: clock() })
  return row && authContextOf(row, config)
}

/** Reads the context of the requester of a stored call. */
export const requesterLoader =
  ({ clock, config }: Pick<Deps, 'clock' | 'config'>) =>
  async (read: Read, bearer: Parameters<StoredDeps['loadRequester']>[1]) => {
    const row = await findRequesterContext(read, { ...bearer, now: clock() })
    return row && authContextOf(row, config)
  }

/** If one-time passwords are off, MFA is off for every person: they have no way to show a second factor. */
const authContextOf = (row: AuthContextRow, config: Config): AuthContext => ({
  user: {
    id: row.user_id,
    type: 'user',
    email: row.email,
    firstName: row.first_name,
    lastName: row.last_name,
    emailVerified: row.email_verified,
    isActive: row.is_active,
    mfaEnabled: row.mfa_enabled && config.OTP_ENABLED,
    dateJoined: row.date_joined,
    locale: row.locale,
    zoneinfo: row.zoneinfo,
    version: row.user_version,
  },
  session: {
    ...shownBy(row, row),
    authTime: row.auth_time,
    attainableAcr: channelsOn(config).length > 0 ? 'aal2' : 'aal1',
    over: row.over,
    overHere: isOverHere(row),
    connection: connectionOf(row),
  },
  impersonator: null,
  scopes: null,
  tenant:
    row.tenant_id === null || row.membership_id === null
      ? null
      : tenantOf(row, row.tenant_id, config.OTP_ENABLED),
  membership: row.membership_id === null ? null : membershipOf(row, row.membership_id),
})

/** What of `shown` counts for the member of the row. */
function shownBy(
  { system_roles: roles }: AuthContextRow,
  shown: Pick<AuthContextRow, 'acr' | 'amr' | 'second_factor_at'>,
): Pick<AuthContext['session'], 'acr' | 'amr' | 'secondFactorAt'> {
  const { acr, amr, second_factor_at: secondFactorAt } = shown
  return isCounting(amr, { isOwner: roles.includes('owner') })
    ? { acr, amr, secondFactorAt }
    : { acr: 'aal1', amr, secondFactorAt: null }
}

const tenantOf = (row: AuthContextRow, id: string, otpEnabled: boolean): AuthContext['tenant'] => ({
  id,
  status: row.tenant_status!,
  requireMfa: (row.require_mfa ?? false) && otpEnabled,
  requireSso: row.require_sso ?? false,
  timeZone: row.time_zone ?? 'UTC',
  policyRevision: row.policy_revision!,
})

const membershipOf = (row: AuthContextRow, id: string): AuthContext['membership'] => ({
  id,
  status: row.membership_status!,
  roles: row.roles,
  systemRoles: row.system_roles,
  roleIds: row.role_ids,
  permissions: row.permissions,
  departmentId: row.department_id,
  managerId: row.manager_id,
  joinedAt: row.joined_at!,
  attributes: row.attributes ?? {},
})
