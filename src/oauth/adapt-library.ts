import { wrongSecretUses } from '../identity/rate-limits/limits.ts'
import type { PageDeps } from '../pages/sign-in/calls.ts'
import { hashAmong, ownOf } from './client-metadata.ts'
import { hashOfSecret } from './clients/client-id.ts'
import { isRegistered } from './clients/redirect-uris.ts'
import { ownState } from './due.ts'
import { noteUse } from './note-use.ts'
import { type Library, type OidcContext, type Provider, requestOf } from './provider-types.ts'
import { notedSuccessor } from './successor.ts'

/** Members that the library's types leave out. */
type Untyped = Provider & {
  OIDCContext: { prototype: object }
  RefreshToken: { prototype: { generateTokenId(): string } }
  urlFor(name: string, options?: object): string
}

/** Changes the library where it has no setting. Each provider has classes of its own. */
export function adaptLibrary(
  provider: Provider,
  { deps, library }: { deps: PageDeps; library: Library },
): void {
  const { Client, Grant, OIDCContext, RefreshToken, Session, urlFor } = provider as Untyped
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
  Object.defineProperties(OIDCContext.prototype, { urlFor: { value: urlFor.bind(provider) }, prompts })

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

  const random = RefreshToken.prototype.generateTokenId
  RefreshToken.prototype.generateTokenId = function (this: never) {
    return notedSuccessor(requestOf(library)) ?? random.call(this)
  }

  Object.assign(Client.prototype, {
    includeSid: () => true,
    redirectUriAllowed(this: { redirectUris: string[] }, uri: unknown) {
      return typeof uri === 'string' && isRegistered(uri, this.redirectUris)
    },
    async compareClientSecret(this: { clientSecret: string }, secret: string) {
      const found = hashAmong(this.clientSecret, hashOfSecret(secret))
      const { ip } = requestOf(library)!.requestInfo
      if (!found) await limiters.take(wrongSecretUses(ip))
      else await noteUse(deps, ownOf(this), found)
      return found !== null
    },
  })
}
