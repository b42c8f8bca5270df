import type { Holder } from '../../tenancy/roles/grantable-roles.ts'
import { ownOf } from '../client-metadata.ts'
import { isIdentityScope } from '../clients/client-schemas.ts'
import type { OidcContext } from '../provider-types.ts'
import { isHeld } from './held-scopes.ts'

/** What a request can be granted. */
export interface Granting {
  /** The scopes that say who the person is. */
  identity: readonly string[]
  /** The scopes at each resource, by its identifier. */
  resources: ReadonlyMap<string, readonly string[]>
  /** All scopes, each once. */
  scopes: readonly string[]
  /** What a person consents to: the scopes, and the resources. */
  consented: readonly string[]
}

/** What is asked for and the client and the person have. Permissions are for the resources that the request names. */
export function grantable({ oidc }: OidcContext, member: Holder): Granting {
  const own = ownOf(oidc.client)
  const asked = [...oidc.requestParamScopes].filter((one) => own.scopes.includes(one))
  const identity = asked.filter(isIdentityScope)
  const servers = Object.entries(oidc.resourceServers ?? {})
  const resources = new Map(
    servers.map(([id, { scopes }]) => [id, asked.filter((one) => scopes.has(one) && isHeld(member, one))]),
  )
  const scopes = [...new Set([...identity, ...[...resources.values()].flat()])]
  return { identity, resources, scopes, consented: [...scopes, ...resources.keys()] }
}
