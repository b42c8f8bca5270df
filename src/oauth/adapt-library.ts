import { randomUUID } from 'node:crypto'
import { writeAsSystem } from '../database/executor/batch.ts'
import { authorizeUses, wrongSecretUses } from '../identity/rate-limits/limits.ts'
import type { PageDeps } from '../pages/sign-in/calls.ts'
import { hashAmong, ownOf } from './client-metadata.ts'
import { hashOfSecret, readClientId } from './clients/client-id.ts'
import { isRegistered } from './clients/redirect-uris.ts'
import { ownState } from './due.ts'
import { noteUse } from './note-use.ts'
import { type Library, type OidcContext, type Provider, requestOf } from './provider-types.ts'
import { insertNewModel } from './store.ts'
import { ownClient } from './tenant-of-request.ts'
import { newRefreshToken, newValue } from './token-value.ts'

/** A code or token while it gets its value. Those with a resource server are JWTs. */
interface CodeOrToken {
  kind: string
  accountId: string
  clientId: string
  grantId: string
  resourceServer?: unknown
}

type Generating = { prototype: { generateTokenId(this: CodeOrToken): string } }

interface Saved {
  prototype: { save(seconds?: number): Promise<string> }
}

/** Members that the library's types leave out. */
type Untyped = Provider & {
  OIDCContext: { prototype: object }
  DeviceCode: Saved
  PushedAuthorizationRequest: Saved
  ReplayDetection: { unique(clientId: string, id: string, until: number): Promise<boolean> }
  AccessToken: Generating
  AuthorizationCode: Generating
  RefreshToken: Generating
  Grant: Generating & typeof Provider.prototype.Grant
  urlFor(name: string, options?: object): string
}

/** Changes the library where it has no setting. Each provider has classes of its own. */
export function adaptLibrary(
  provider: Provider,
  { deps, library }: { deps: PageDeps; library: Library },
): void {
  const {
    AccessToken,
    AuthorizationCode,
    Client,
    Grant,
    OIDCContext,
    PushedAuthorizationRequest,
    RefreshToken,
    ReplayDetection,
    Session,
    urlFor,
    DeviceCode,
  } = provider as Untyped
  const { limiters } = deps

  // `offline_access` needs no `prompt=consent` here: the library would drop it.
  const prompts = {
    get(this: { params?: { prompt?: string } }) {
      return new (class extends Set<string> {
        override has(one: string): boolean {
          return one === 'consent' || super.has(one)
        }
      })(this.params?.prompt?.split(' '))
    },
  }
  // PUBLIC_URL names the service, whatever address a proxy asks for.
  const own = (name: string, options?: { query?: Record<string, string> }) =>
    name === 'code_verification'
      ? `${deps.publicUrl()}/sign-in/device/${options?.query ? `?${new URLSearchParams(options.query)}` : ''}`
      : urlFor.call(provider, name, options)
  Object.defineProperties(OIDCContext.prototype, { urlFor: { value: own }, prompts })

  // The browser's session is ours, so the library neither stores one nor sets its cookie.
  Session.get = async (ctx: OidcContext) => {
    const session = new Session()
    Object.defineProperty(session, 'touched', { value: false })
    const { here } = ownState(ctx)
    if (here) Object.assign(session, { accountId: here.userId, uid: here.sessionId })
    ctx.oidc.entity('Session', session)
    return session
  }

  Object.defineProperty(Grant, 'IN_PAYLOAD', { value: [...Grant.IN_PAYLOAD, 'auth'] })
  // A scope that the client lost is gone from its grants, too.
  const granted = Grant.prototype.getOIDCScope
  Grant.prototype.getOIDCScope = function (this: never) {
    const client = (library.Provider.ctx as OidcContext | undefined)?.oidc.client
    const scopes = granted.call(this)
    if (!client) return scopes
    return scopes
      .split(' ')
      .filter((one: string) => ownOf(client).scopes.includes(one))
      .join(' ')
  }

  // Grants of ours alone have codes and tokens, and their values contain the id of the grant.
  Grant.prototype.generateTokenId = () => randomUUID()
  for (const { prototype } of [AccessToken, AuthorizationCode, RefreshToken]) {
    const random = prototype.generateTokenId
    prototype.generateTokenId = function (this: CodeOrToken) {
      // The library notes the format with it.
      const id = random.call(this)
      if (this.resourceServer) return id
      const { accountId: userId, grantId } = this
      const holder = { client: ownClient(library.Provider.ctx as OidcContext), userId, grantId }
      if (this.kind !== 'RefreshToken') return newValue(holder)
      return requestOf(library)?.oauth.unit?.consumed?.successor ?? newRefreshToken(deps.sealer, holder)
    }
  }

  // Anyone can begin requests in the name of a client without a secret, so these count for the address that they come from.
  for (const { prototype } of [PushedAuthorizationRequest, DeviceCode]) {
    const { save } = prototype
    prototype.save = async function (seconds) {
      const { oidc, state } = library.Provider.ctx as OidcContext
      if (oidc.route === 'device_resume') return save.call(this, seconds)
      const isPublic = oidc.client!.clientAuthMethod === 'none'
      if (isPublic) await limiters.take(authorizeUses(state.requestInfo.ip))
      else deps.callLimits.countClient(ownOf(oidc.client).id)
      return save.call(this, seconds)
    }
  }

  // One statement says whether an assertion is new. `until` is in s.
  ReplayDetection.unique = (clientId, id, until) =>
    writeAsSystem(deps.db, 'an assertion names its client', (together) =>
      insertNewModel(together, {
        kind: 'ReplayDetection',
        id: `${clientId}.${id}`,
        client: readClientId(clientId)!,
        payload: {},
        at: deps.clock(),
        expiresAt: until * 1000,
      }),
    )

  Object.assign(Client.prototype, {
    includeSid: () => true,
    redirectUriAllowed(this: { redirectUris: string[] }, uri: unknown) {
      return typeof uri === 'string' && isRegistered(uri, this.redirectUris)
    },
    async compareClientSecret(this: { clientSecret: string }, secret: string) {
      const found = hashAmong(this.clientSecret, hashOfSecret(secret))
      const { requestInfo, oauth } = requestOf(library)!
      if (!found) await limiters.take(wrongSecretUses(requestInfo.ip))
      else await noteUse(deps, oauth.unit, { client: ownOf(this), secretHash: found })
      return found !== null
    },
  })
}
