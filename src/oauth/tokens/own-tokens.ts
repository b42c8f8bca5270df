import { nilUuid } from '../../crypto/uuid.ts'
import { readInTenant } from '../../database/executor/read.ts'
import type { PageDeps } from '../../pages/sign-in/calls.ts'
import { isDeniedByNow } from '../access/denied-by-now.ts'
import { isStill, isWayOpen, livePerson, livingOf } from '../account.ts'
import { ownOf } from '../client-metadata.ts'
import { readClientId } from '../clients/client-id.ts'
import { ownState } from '../due.ts'
import type { OidcContext, OwnGrant } from '../provider-types.ts'
import { findByIdentifier } from '../resources/store.ts'
import { accountOf } from './machine-tokens.ts'

/**
 * A client ends its own tokens, and asks whether they work: as they would at this moment, so the session, the person, the
 * membership and the tenant are asked. To other clients they do not exist.
 */
export function ownTokens(parts: Parts) {
  const isOwn: IsAllowed = async (_ctx, client, token) => token.clientId === client.clientId
  const isLive: IsAllowed = async (ctx, asking, token) => {
    const client = await clientFor(parts, ctx, asking, token)
    if (!client) return false
    if (token.kind !== 'ClientCredentials') return !!(await personOf(parts, ctx, client, token))
    const asked = { resource: String(token.aud), scopes: token.scope?.split(' ') ?? [] }
    return (await accountOf(parts.deps, ctx, client, asked))?.user.id === token.accountId
  }
  return {
    revocation: { enabled: true, allowedPolicy: isOwn },
    introspection: { enabled: true, allowedPolicy: isLive },
  }
}

interface Parts {
  deps: PageDeps
}

type LibraryClient = OidcContext['oidc']['client']
type IsAllowed = (ctx: OidcContext, client: { clientId: string }, token: KnownToken) => Promise<boolean>

/** A code or token, as far as it is asked here. */
export interface KnownToken {
  kind?: string | undefined
  scope?: string | undefined
  clientId?: string | undefined
  accountId?: string | undefined
  grantId?: string | undefined
  sessionUid?: string | undefined
  aud?: string | string[] | undefined
}

/** The client of a token, if the client that asks may learn of it: it is the same, or one of the token's resource. */
async function clientFor(
  { deps }: Parts,
  ctx: OidcContext,
  asking: { clientId: string },
  { clientId, aud }: KnownToken,
): Promise<LibraryClient> {
  if (clientId === asking.clientId) return asking as LibraryClient
  const client = typeof aud === 'string' && (await ctx.oidc.provider.Client.find(String(clientId)))
  const { tenantId, id } = ownOf(asking)
  // A client of a manifest belongs to no tenant: it may ask about the tokens of all for its own resource.
  if (!client || (tenantId !== nilUuid && ownOf(client).tenantId !== tenantId)) return undefined
  const scope = { tenantId, userId: nilUuid }
  const resource = await readInTenant(deps.db, scope, (read) => findByIdentifier(read, tenantId, String(aud)))
  return resource?.tenant_id === tenantId && resource.client_ids.includes(id) ? client : undefined
}

/** What access tokens say beyond the protocol: the tenant, and with a grant which one, and how its person had signed in. */
export function claimsOfToken({ clientId, aud }: KnownToken, grant: unknown) {
  const own = (grant as OwnGrant | undefined)?.auth.tenantId
  const tenant = { tenant_id: own ?? readClientId(String(clientId))!.tenantId }
  if (!grant || aud === undefined) return tenant
  const { gid, acr, amr, authTime } = (grant as OwnGrant).auth
  return { ...tenant, gid, acr, amr: [...amr], auth_time: authTime || undefined }
}

/** The person of a code or token, if they may still be in the tenant of its client. */
export async function personOf({ deps }: Parts, ctx: OidcContext, client: LibraryClient, token: KnownToken) {
  const own = ownOf(client)
  deps.callLimits.countClient(own.id)
  const grant = ctx.oidc.entities.Grant ?? (await ctx.oidc.provider.Grant.find(String(token.grantId)))
  const state = ownState(ctx)
  state.tenantId = (grant as OwnGrant | undefined)?.auth.tenantId
  const tenantId = state.tenantId ?? own.tenantId
  const userId = String(token.accountId)
  // A request can name several codes and tokens, which can be of other grants.
  const { read } = state.unit ?? {}
  const person =
    read?.holder.grantId === token.grantId
      ? livingOf(read?.person ?? null)
      : await livePerson(deps, { tenantId, userId, sessionId: String(token.sessionUid) })
  if (!grant || !person || !isStill((grant as OwnGrant).auth, person)) return null
  if (!(await isWayOpen(deps, person))) return null
  return (await isDeniedByNow(deps, ctx, client, person, grant as OwnGrant)) ? null : person
}
