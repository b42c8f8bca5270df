import type { AccessClaims } from './verify-token.ts'

/** A person with an access token: its claims. */
export interface TokenCaller extends AccessClaims {
  kind: 'user'
}

/** The holder of an API key. It is what the service said within the last 10 s. */
interface KeyHolder {
  /** Id of the person, or of the service account. */
  sub: string
  tenant_id: string
  roles: string[]
  /** Permissions that the roles name, within the scopes of the key. */
  permissions: string[]
  key: { id: string; scopes: string[] | null }
}

/** A person with a key of their own. */
export interface PersonalKeyCaller extends KeyHolder {
  kind: 'personal_key'
  email: string
}

/** A program of the tenant. */
export interface ServiceAccountCaller extends KeyHolder {
  kind: 'service_account'
  name: string
  email?: undefined
}

/** Who sends a request of your application. `kind` tells them apart; all have `sub`, `tenant_id` and `roles`. */
export type Caller = TokenCaller | PersonalKeyCaller | ServiceAccountCaller

/** The caller as the subject of a question. */
export const subjectOf = ({ kind, sub }: Caller) => ({
  type: kind === 'service_account' ? 'service_account' : 'user',
  id: sub,
})
