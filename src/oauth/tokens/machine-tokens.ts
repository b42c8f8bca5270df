import type { Adapter, AdapterPayload } from 'oidc-provider'
import { readInTenant } from '../../database/executor/read.ts'
import type { PageDeps } from '../../pages/sign-in/calls.ts'
import type { AuthContext } from '../../request/caller.ts'
import { isDenied } from '../access/denied-by-now.ts'
import { livingOf } from '../account.ts'
import { ownOf } from '../client-metadata.ts'
import { ownState } from '../due.ts'
import { noteUse } from '../note-use.ts'
import type { Library, OidcContext, Provider } from '../provider-types.ts'
import { textOf } from './structured-tokens.ts'

// A client of the kind `machine` gets tokens in its own name (RFC 6749 §4.4), which act as its service account. They are JWTs, and
// nothing of them is stored: each use asks for the client, the account and the tenant.

type LibraryClient = OidcContext['oidc']['client']

/**
 * The service account of a machine, if it may act now; null if it is disabled or deleted, its tenant is closed, or the policies
 * deny what is asked for.
 */
export async function accountOf(
  deps: PageDeps,
  ctx: OidcContext,
  client: LibraryClient,
  { resource, scopes }: { resource: string; scopes: string[] },
): Promise<AuthContext | null> {
  const { id, tenantId, scopes: own, serviceAccountId: userId } = ownOf(client)
  deps.callLimits.countClient(id)
  if (userId === null) return null
  const shown = { acr: 'aal1', amr: [], authTime: 0 } as const
  const bearer = {
    userId,
    tenantId,
    sessionId: id,
    familyId: null,
    token: 'oauth',
    subjectType: 'service_account',
    impersonatorId: undefined,
    application: { clientId: id, scopes: own, ...shown },
  } as const
  const account = livingOf(await readInTenant(deps.db, bearer, (read) => deps.loadAuthContext(read, bearer)))
  const { ip, userAgent } = ctx.state.requestInfo
  const asked = { ...shown, sessionId: id, ip, userAgent, redirectHost: '', resources: [resource], scopes }
  return account && (await isDenied(deps, ctx, client, account, { ...asked, hasMet: false })) ? null : account
}

/**
 * The service account for which the machine of a request asks for a token. A request without scopes asks for all that the client
 * has. Throws `invalid_grant` where the account may not act.
 */
export async function askingAccount(
  { deps, library }: { deps: PageDeps; library: Library },
  ctx: OidcContext,
  client: LibraryClient,
  resource: string,
): Promise<AuthContext> {
  const own = ownOf(client)
  ctx.oidc.params!.scope ??= own.scopes.join(' ')
  const scopes = [...ctx.oidc.requestParamScopes].filter((one) => own.scopes.includes(one))
  const account = await accountOf(deps, ctx, client, { resource, scopes })
  if (!account)
    throw new library.errors.InvalidGrant('The service account cannot act, or policies deny the client')
  // The check of a secret notes the use.
  if (client?.clientSecret === undefined)
    await noteUse(deps, ownState(ctx).unit, { client: own, secretHash: null })
  return account
}

/** The tokens of machines as the library looks them up: by their signature. */
export const machineTokens = ({ signer, clock }: PageDeps): Adapter =>
  ({
    async find(id: string): Promise<AdapterPayload | undefined> {
      const text = textOf(id)
      const claims = text === null ? null : await signer.verify('machine', text, clock()).catch(() => null)
      if (!claims) return undefined
      const { sub: accountId, client_id: clientId, tenant_id, aud, scope, jti, iat, exp, cnf } = claims
      const extra = { tenant_id }
      return {
        kind: 'ClientCredentials',
        accountId,
        clientId,
        aud,
        scope,
        jti,
        iat,
        exp,
        jkt: cnf?.jkt,
        extra,
      }
    },
  }) as Partial<Adapter> as Adapter

interface Token {
  client: LibraryClient
  accountId?: string | null
  resourceServer?: unknown
  scope?: string
}
type Untyped = Provider & {
  ClientCredentials: {
    IN_PAYLOAD: string[]
    prototype: { save(this: Token): Promise<string>; destroy(this: Token): Promise<void> }
  }
}

/** Names the service account in tokens of machines, and makes none that opens nothing. */
export function nameAccounts(provider: Provider, { errors }: Library): void {
  const { ClientCredentials } = provider as Untyped
  Object.defineProperty(ClientCredentials, 'IN_PAYLOAD', {
    value: [...ClientCredentials.IN_PAYLOAD, 'accountId'],
  })
  const { save } = ClientCredentials.prototype
  Object.assign(ClientCredentials.prototype, {
    async save(this: Token) {
      if (!this.resourceServer) throw new errors.InvalidTarget('Name one resource')
      if (!this.scope) throw new errors.InvalidScope('The service account has none of these permissions', '')
      this.accountId = ownOf(this.client).serviceAccountId
      return save.call(this)
    },
    /** Nothing of it is stored that could be deleted (RFC 7009 §2.2.1). */
    async destroy() {
      throw new errors.UnsupportedTokenType('It ends within 15 minutes. Disable the client to end it now')
    },
  })
}
