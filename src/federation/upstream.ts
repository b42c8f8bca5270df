/** Who signs people in for us. `saml` is the kind of connections alone. */
export type UpstreamKind = 'google' | 'github' | 'microsoft' | 'apple' | 'oidc' | 'saml'

/**
 * One identity provider: one that the installation names, or a connection of a tenant. What it knows of its protocol stays
 * in it.
 */
export interface Upstream {
  /** Of a provider of the installation the id of its setting; of a connection its UUID. It is part of the redirect URI. */
  id: string
  kind: UpstreamKind
  /** What the button says. */
  name: string
  /** The tenant of a connection; null: a provider of the installation, which signs people in to all their tenants. */
  tenantId: string | null
  /** Where the browser goes, and what `finish` needs to check the answer. Throws {@link UpstreamError}. */
  begin(asked: Asked): Promise<Begun>
  /** Checks an answer in full, and says whom it names. Throws {@link UpstreamError}; never gives half of an answer. */
  finish(answer: Answer): Promise<Asserted>
}

export interface Asked {
  /** Random, 256 bits. It comes back with the answer, as `state` or as `RelayState`. */
  state: string
  /** Ours for this upstream, and for no other one (mix-up: RFC 9700 §4.4). */
  redirectUri: string
  /** An address that fills in the upstream's own page. */
  loginHint?: string | undefined
  /** The upstream is to ask for its first factor again: `max_age=0`, or ForceAuthn. */
  isFresh?: boolean
}

export interface Begun {
  url: string
  /** Strings such as the nonce, the verifier of PKCE, the id of the request. They are sealed until the answer comes. */
  kept: Record<string, string>
}

export interface Answer {
  state: string
  redirectUri: string
  kept: Readonly<Record<string, string>>
  /** The query of a GET, or the fields of a form. */
  parameters: URLSearchParams
  /** ms since 1970 */
  at: number
}

/** Whom an upstream names. It is the word of the upstream alone: no address in it is proved by being here. */
export interface Asserted {
  /** `iss`, or the entity id. */
  issuer: string
  /** Which claim or attribute holds the subject, such as `sub`. */
  attribute: string
  /** Never empty, and never an address. */
  subject: string
  /** In lower case; null: it named none. */
  email: string | null
  /** The upstream decides who reads the mailbox: its word proves the address. */
  isAuthority: boolean
  firstName: string
  lastName: string
  /** What the upstream says that it checked; empty: nothing. */
  amr: readonly string[]
  /** When the person signed in there, in ms since 1970; null: it did not say. */
  authTime: number | null
  /** Everything that it said, for mapping rules and for the log of a connection. */
  claims: Readonly<Record<string, unknown>>
}

/**
 * An answer that is refused, or an upstream that cannot be reached. `message` is for an administrator, and names no secret;
 * people read the words of their language for `code`.
 */
export class UpstreamError extends Error {
  override name = 'UpstreamError'
  readonly code: UpstreamFault

  constructor(code: UpstreamFault, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/**
 * `denied`: the person said no there. `unreachable`: it gave no answer. `refused`: its answer does not hold. `undated`: it does not
 * say when the person signed in, and was asked for a new sign-in.
 */
export type UpstreamFault = 'denied' | 'unreachable' | 'refused' | 'undated'

/** Finds an upstream by its id; null: unknown, or switched off. */
export type FindUpstream = (id: string) => Promise<Upstream | null>
