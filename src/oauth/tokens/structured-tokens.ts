import type { Provider } from '../provider-types.ts'

interface Token {
  format: string
  remainingTTL: number
  adapter: { upsert(id: string, payload: object, seconds: number): Promise<void> }
}
type Untyped = Provider & {
  AccessToken: { prototype: { getValueAndPayload(this: Token): Promise<{ value: string; payload: object }> } }
  OIDCContext: { prototype: object }
}

/**
 * The id of an access token that is a JWT: its text, but not in the form that the library refuses to look up. No token has a `~`,
 * so what is sent with one is none.
 */
const idOf = (text: unknown) =>
  typeof text !== 'string' ? text : text.includes('~') ? '~' : text.replaceAll('.', '~')

/** The text of a JWT with this id; null for an id of another form. */
export const textOf = (id: string): string | null =>
  id.split('~').length === 3 ? id.replaceAll('~', '.') : null

/**
 * Stores access tokens that are JWTs like all others, by the hash of their text: so their client can revoke and introspect
 * them, and a forged one is unknown. The library keeps nothing of them (reject_structured_tokens.js).
 */
export function keepStructuredTokens(provider: Provider): void {
  const { AccessToken, OIDCContext } = provider as Untyped
  const write = AccessToken.prototype.getValueAndPayload
  AccessToken.prototype.getValueAndPayload = async function () {
    const signed = await write.call(this)
    if (this.format !== 'jwt') return signed
    this.format = 'opaque'
    const { payload } = await write.call(this)
    await this.adapter.upsert(String(idOf(signed.value)), payload, this.remainingTTL)
    return signed
  }

  const given = new WeakMap<object, { token?: unknown }>()
  Object.defineProperty(OIDCContext.prototype, 'params', {
    get(this: object) {
      return given.get(this)
    },
    set(this: { route: string }, params: { token?: unknown }) {
      if (this.route === 'introspection' || this.route === 'revocation') params.token = idOf(params.token)
      given.set(this, params)
    },
  })
}
