import type { TokenKind } from '../../policy-engine/catalogue/actions.ts'
import type { Membership, TenantFacts } from '../../policy-engine/evaluate/query.ts'
import type { RequestInfo } from './request-info.ts'
import type { ResourceOf } from './route.ts'
import type { RowView } from './row-view.ts'

/** What the database says about the bearer of a token, read in one query on each request. */
export interface AuthContext {
  user: {
    id: string
    email: string
    firstName: string
    lastName: string
    emailVerified: boolean
    isActive: boolean
    /** Has a confirmed TOTP device, and one-time passwords are on. */
    mfaEnabled: boolean
    /** ms since 1970 */
    dateJoined: number
    /** That of the person's row. */
    version: number
  }
  session: {
    acr: 'aal1' | 'aal2'
    amr: string[]
    authTime: number
    secondFactorAt: number | null
    /** The highest class that this session can still show, for `step_up`; null where it can authenticate in no way. */
    attainableAcr: 'aal1' | 'aal2' | null
    /** Ended, or past its absolute life. */
    over: boolean
    /** Ended in the tenant of the request alone. */
    overHere: boolean
  }
  /** Null where the tenant does not exist, was deleted, or the person does not belong to it. */
  tenant: (TenantFacts & { policyRevision: number }) | null
  membership: (Membership & { roles: string[] }) | null
}

/**
 * Reads the standing of a person's session in a tenant, for a temporary token that of the sign-in it stands for; null
 * where there is no such session.
 */
export type LoadAuthContext = (bearer: {
  userId: string
  sessionId: string
  tenantId: string
  token: TokenKind
}) => Promise<AuthContext | null>

/** The authenticated caller of a request. Usable as the scope of a transaction. */
export interface Caller {
  userId: string
  /** The tenant this request is scoped to: the token's, or that of the path for `/tenants/<id>/`. */
  tenantId: string
  /** The tenant named in the token. */
  tokenTenantId: string
  sessionId: string
  /** The refresh family that the token came with; null where it names none. */
  familyId: string | null
  token: TokenKind
  jti: string
  auth: AuthContext
  requestInfo: RequestInfo
  /** The id of whatever is decided about this request: in its audit rows, and in each denial. */
  decisionId: string
  /** Whether the request's action would be allowed about this resource; for answers that show less to some. */
  may(resource: ResourceOf): boolean
  /** How the rows of the request's list are seen, by what was decided so far. */
  viewOfRows(): RowView
}
