import type { Read } from '../database/executor/read.ts'
import type { ApiError } from '../errors.ts'
import type { RequestInfo } from '../http/request-info.ts'
import type { ActionName, TokenKind } from '../policy-engine/catalogue/actions.ts'
import type {
  Actor,
  Membership,
  Resource,
  SubjectType,
  TenantFacts,
} from '../policy-engine/evaluate/query.ts'

/** The identity provider of a tenant. A session by it enters that tenant alone. */
export interface Connection {
  id: string
  tenantId: string
}

/** The session, user, tenant and membership of a token or key, read on each request, in one round trip. */
export interface AuthContext {
  /** The person, or the service account: its name is in `firstName`, and it has no address. */
  user: {
    id: string
    type: SubjectType
    /** Empty for a service account. */
    email: string
    firstName: string
    lastName: string
    emailVerified: boolean
    isActive: boolean
    /** True when the user has a confirmed TOTP device and one-time passwords are on. */
    mfaEnabled: boolean
    /** ms since 1970 */
    dateJoined: number
    /** BCP 47; null: not known. */
    locale: string | null
    /** IANA time zone; null: UTC. */
    zoneinfo: string | null
    /** Version of the user's row. */
    version: number
  }
  session: {
    acr: 'aal1' | 'aal2'
    amr: string[]
    authTime: number
    secondFactorAt: number | null
    /** The highest class that this session can still reach, for `step_up`; null when it cannot authenticate again. */
    attainableAcr: 'aal1' | 'aal2' | null
    /** Ended, or past its absolute lifetime. */
    over: boolean
    /** Ended in the tenant of the request only. */
    overHere: boolean
    /** By which it began; null: by another way. */
    connection: Connection | null
  }
  /** Who acts as the user; null if the user acts themselves. */
  impersonator: Impersonator | null
  /** The permissions that a key is limited to; null for no limit, and for a token. Of an application, its scopes. */
  scopes: readonly string[] | null
  /** As in {@link Caller}, where the token does not say it: of a machine, who made its client. */
  keyMakerId?: string
  /** Null when the tenant does not exist or was deleted, or the user is not a member. */
  tenant: (TenantFacts & { policyRevision: number; requireSso: boolean }) | null
  membership: (Membership & { roles: string[] }) | null
}

/** A member who acts as another one, in a session of their own. */
export interface Impersonator extends Actor {
  membership: Membership
}

/**
 * Loads the auth context of a user's session in a tenant; for a temporary token, that of its pending sign-in; for a key,
 * that of its holder. Null when there is no such session, and for a dead key. Throws 401 `key_expired`, and 403 if the
 * actor of an impersonation may no longer act as the user.
 */
export type LoadAuthContext = (
  read: Read,
  bearer: Pick<
    Caller,
    | 'userId'
    | 'sessionId'
    | 'familyId'
    | 'tenantId'
    | 'token'
    | 'subjectType'
    | 'impersonatorId'
    | 'application'
  >,
) => Promise<AuthContext | null>

/** What a token or key says about its bearer, before its session is read. */
export type Claims = Pick<
  Caller,
  | 'userId'
  | 'sessionId'
  | 'familyId'
  | 'tenantId'
  | 'jti'
  | 'token'
  | 'subjectType'
  | 'keyMakerId'
  | 'impersonatorId'
  | 'byCookie'
  | 'asDirectory'
  | 'application'
>

/** What the token of an application says: its client, what it may do, and how the person had signed in (s since 1970). */
export interface Application {
  /** The key that the token is bound to; undefined: to none. */
  jkt?: string | undefined
  /** The row of the client, in the tenant of the token. */
  clientId: string
  scopes: readonly string[]
  acr: 'aal1' | 'aal2'
  amr: readonly string[]
  authTime: number
}

/** A resource as the functions of a route give it. The request supplies the missing members. */
export type ResourceOf = Partial<Resource> & { type: string }

/** What the caller can see of the rows of a list. */
export interface RowView {
  /** True when a policy can withhold rows. The answer then has no count. */
  readonly selective: boolean
  /** Paths of the fields that are masked for the caller, in all rows or in some. */
  readonly masked: readonly string[]
  /** Each row as the caller can see it; null for a withheld row. */
  visible(rows: readonly RowToDecide[]): Promise<(Visible | null)[]>
  /** 403 for a query parameter that would reveal what a masked field holds. */
  refuse(parameter: string): ApiError
}

/** A row as the answer shows it, and as its detail is decided; null for a row that is withheld from the caller. */
export interface RowToDecide {
  row: unknown
  /** Default: what the row says. */
  resource?: ResourceOf | null
}

export interface Visible {
  shown: unknown
}

/**
 * What an action, such as `member:list`, would show of an object: the paths of its masked fields, or null if it would show
 * nothing now. Without an object (null): what it would show of every one, so null where it depends on the object. Answers
 * about an object that does not exist and about a hidden one are the same then.
 */
export type DetailReader = (resource: ResourceOf | null) => readonly string[] | null

/** The authenticated caller of a request. It is also a valid scope of a transaction. */
export interface Caller {
  /** The id of the person, or of the service account. */
  userId: string
  subjectType: SubjectType
  /** The tenant of this request: the token's, or the path's for `/tenants/<id>/`. */
  tenantId: string
  /** The tenant named in the token. */
  tokenTenantId: string
  /** For a key, the id of the key; for an application, that of the grant. */
  sessionId: string
  /** For a key of a service account, or a machine, the person who made it: its changes count as theirs. */
  keyMakerId?: string
  /** The id of the member who acts as the user, as the token names them. */
  impersonatorId?: string
  /** The same member. As a part of the scope it marks each audit row and event. */
  impersonator: { id: string; email: string } | null
  /** A directory calls by SCIM. Its calls have a limit of their own. */
  asDirectory?: true
  /** The application that acts for the caller. */
  application?: Application
  /** The chain of refresh tokens (claim `fid`) that the token was issued with; null when it names none. */
  familyId: string | null
  /** The console's cookie stands for the caller: it counts as the live token of its chain. */
  byCookie?: true
  token: TokenKind
  jti: string
  auth: AuthContext
  requestInfo: RequestInfo
  /** The id of this request's decision: in its audit rows, and in each denial. */
  decisionId: string
  /** True when the request's actions are allowed on this resource. For answers that show less to some callers. */
  may(resource: ResourceOf): boolean
  /** Whether a policy, or a rule of the installation, denies the caller an action, whatever their roles and key permit. */
  denies(action: ActionName, resource: ResourceOf): boolean
  /** For answers about objects that the caller did not ask for by their own routes. */
  readerBy(action: ActionName): DetailReader
  /** What the caller may see of the rows of the request's list, by the decision made so far. */
  viewOfRows(): RowView
}

/** The tenant that a session by a connection stays in; null: no limit. */
export const confinedTo = ({ auth }: Pick<Caller, 'auth'>): string | null =>
  auth.session.connection?.tenantId ?? null

/** The caller as the token names it, before the session is read. */
export type Bearer = Pick<Caller, 'userId' | 'tenantId' | 'sessionId' | 'token' | 'subjectType'>

/** The tokens that act in their own tenant alone, with the refusal where a route takes a session of the person. */
export const boundKinds: Partial<
  Record<TokenKind, 'key_not_allowed' | 'impersonation_not_allowed' | 'application_not_allowed'>
> = {
  key: 'key_not_allowed',
  impersonation: 'impersonation_not_allowed',
  oauth: 'application_not_allowed',
}

/** Whose calls a request uses: those of the person who sends it. */
export const countedFor = ({ userId, impersonatorId, tenantId, asDirectory }: Claims): Counted => ({
  userId: impersonatorId ?? userId,
  tenantId,
  asDirectory,
})

/** Whose calls are counted: those of a user and a tenant, or of the tenant's directories. */
export type Counted = Pick<Claims, 'userId' | 'tenantId'> & { asDirectory?: true | undefined }
