import type { Deps } from '../deps.ts'
import { normaliseEmail } from '../messages/mail/email-address.ts'
import { beginOidc, finishOidc, type OidcClient } from './oidc.ts'
import { subjectIn } from './subject-in.ts'
import { type Answer, type Asserted, type Upstream, UpstreamError } from './upstream.ts'

export type UpstreamDeps = Pick<Deps, 'config' | 'clock'>
export type Claims = Readonly<Record<string, unknown>>

/** What one kind of provider does in its own way. */
export interface OpenIdKind {
  client: () => OidcClient | Promise<OidcClient>
  /** Which claim says who a person is. */
  attribute: string
  /** Whom the claims name, if that is not `attribute` alone. Throws {@link UpstreamError}. */
  subject?: (claims: Claims) => string
  isAuthority: (claims: Claims, email: string) => boolean
  /** Which claims count; default: all. */
  counting?: (claims: Claims) => Claims
  /** Names that come beside the ID token. */
  names?: (answer: Answer) => Claims
}

const clockTolerance = 60_000

/** An upstream that speaks OpenID Connect. */
export const openIdUpstream = (
  deps: UpstreamDeps,
  { id, kind, name, tenantId }: Pick<Upstream, 'id' | 'kind' | 'name' | 'tenantId'>,
  own: OpenIdKind,
): Upstream => ({
  id,
  kind,
  name,
  tenantId,
  async begin(asked) {
    const { url, kept } = await beginOidc(deps, await own.client(), asked)
    return { url, kept: asked.isFresh ? { ...kept, freshSince: String(deps.clock()) } : kept }
  },
  async finish(answer) {
    const said = await finishOidc(deps, await own.client(), answer)
    const { attribute, subject = (from: Claims) => subjectIn(from, attribute) } = own
    const claims = own.counting?.(said) ?? said
    const email = emailIn(claims)
    return {
      issuer: said.iss,
      attribute,
      subject: subject(said),
      email,
      isAuthority: email !== null && own.isAuthority(claims, email),
      ...namesIn({ ...claims, ...own.names?.(answer) }),
      amr: Array.isArray(claims.amr) ? claims.amr.filter((method) => typeof method === 'string') : [],
      authTime: authTimeOf(claims, answer),
      claims,
    }
  },
})

/** The address that a provider names, as we write it; null: none that is one. */
export const emailIn = ({ email }: Claims): string | null =>
  typeof email === 'string' ? normaliseEmail(email) : null

/** Some providers write the mark as text. */
export const isMarkedVerified = ({ email_verified: mark }: Claims): boolean =>
  mark === true || mark === 'true'

/** Without an address that the provider itself marks as unverified. A missing mark passes: not every provider has one. */
export function withoutUnverified(claims: Claims): Claims {
  if (isMarkedVerified({ email_verified: claims.email_verified ?? true })) return claims
  const { email: _, ...others } = claims
  return others
}

/** The first and last name, each of at most 150 characters; of a whole name, the last word is the last name. */
export function namesIn({ given_name, family_name, name }: Claims): Pick<Asserted, 'firstName' | 'lastName'> {
  const [first, last] = [wordsOf(given_name), wordsOf(family_name)]
  if (first || last) return { firstName: first, lastName: last }
  const whole = wordsOf(name)
  const at = whole.lastIndexOf(' ')
  return at < 0
    ? { firstName: whole, lastName: '' }
    : { firstName: whole.slice(0, at), lastName: whole.slice(at + 1) }
}

const wordsOf = (value: unknown) =>
  typeof value === 'string'
    ? value
        .replace(/[\p{Cc}\s]+/gu, ' ')
        .trim()
        .slice(0, 150)
        .toWellFormed()
    : ''

const authTimeIn = ({ auth_time: seconds }: Claims) =>
  typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : null

/**
 * When the person signed in there. `max_age=0` asks for a new sign-in, and the ID token must say when it was (OpenID Connect Core 1.0,
 * 3.1.2.1); then it was after we asked, whatever the clock of the provider says.
 */
function authTimeOf(claims: Claims, { kept: { freshSince } }: Answer): number | null {
  const authTime = authTimeIn(claims)
  if (freshSince === undefined) return authTime
  if (authTime === null)
    throw new UpstreamError(
      'undated',
      'The ID token does not say when the person signed in: it has no auth_time.',
    )
  if (authTime < Number(freshSince) - clockTolerance)
    throw new UpstreamError('refused', 'The provider did not ask for a new sign-in: its auth_time is older.')
  return Math.max(authTime, Number(freshSince))
}
