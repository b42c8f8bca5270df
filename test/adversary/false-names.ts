import { randomUUID } from 'node:crypto'

/** A person of another tenant, as a hostile provider can know them. */
export interface Victim {
  id: string
  tenantId: string
  email: string
  /** What their own provider calls them, by their own connection. */
  subject: string
  connectionId: string
}

type Claims = Record<string, unknown>

/** Whom a `sub` can be made to look like. */
const subjects: ((victim: Victim) => unknown)[] = [
  () => randomUUID(),
  ({ id }) => id,
  ({ subject }) => subject,
  ({ subject }) => subject.toUpperCase(),
  ({ subject }) => ` ${subject}`,
  ({ subject }) => `${subject}\u0000`,
  ({ connectionId, subject }) => `${connectionId}|${subject}`,
  ({ tenantId, id }) => `${tenantId}.${id}`,
  ({ email }) => email,
  ({ subject }) => [subject],
  ({ subject }) => ({ value: subject }),
  ({ id }) => `' or user_id = '${id}' --`,
  () => '__proto__',
  () => 'x'.repeat(5_000),
]

/** How an address can be written so that one reader sees another one in it. `own`: a domain of the hostile tenant. */
const addresses: ((email: string, own: string) => unknown)[] = [
  (email) => email,
  (email) => email.toUpperCase(),
  (email) => email.replace(/^./, (first) => first.toUpperCase()),
  (email) => ` ${email}`,
  (email) => `${email}\t`,
  (email) => `${email}\n`,
  (email) => `${email}\u0000`,
  (email) => `\ufeff${email}`,
  (email) => email.replace('@', '\u200b@'),
  (email) => email.replace('@', '\u00ad@'),
  (email) => email.replace('@', '\uff20'),
  (email) => email.replace(/\.(?=[^.]*$)/, '\u3002'),
  (email) => email.replace('e', '\u0435'),
  (email) => email.replace(/^./, (first) => String.fromCodePoint(first.codePointAt(0)! + 0xfee0)),
  (email) => email.normalize('NFD').replace('s', '\u017f'),
  (email) => email.replace('@', '+sign-in@'),
  (email) => email.replace('@', '.@'),
  (email) => `"${email.replace('@', '"@')}`,
  (email) => email.replace('@', '(ours)@'),
  (email) => `${email}.`,
  (email) => email.replace('@', '@sub.'),
  (email) => email.replace('@', '@.'),
  (email, own) => `${email}@${own}`,
  (email, own) => email.replace('@', `@${own}@`),
  (email, own) => `${email.replace('@', '%')}@${own}`,
  (email, own) => `${email},x@${own}`,
  (email, own) => `x@${own}\n${email}`,
  (email, own) => `${email}\u0000@${own}`,
  (email, own) => `${email.replace('@', '@sub.')}.${own}`,
  (email, own) => email.replace(/@.*/, `@${own}`),
  (email) => `<${email}>`,
  (email) => `Ada <${email}>`,
  (email) => `mailto:${email}`,
  (email) => encodeURIComponent(email),
  (email) => [email],
  (email, own) => [`x@${own}`, email],
  (email) => ({ email, toString: email }),
  () => null,
  () => undefined,
  () => '',
  () => true,
]

/** What else a provider can say. */
const others: ((victim: Victim) => Claims)[] = [
  () => ({ email_verified: true }),
  () => ({ email_verified: 'true' }),
  () => ({}),
  ({ email }) => ({ email_verified: true, preferred_username: email, upn: email, emails: [email] }),
  ({ tenantId, id }) => ({ email_verified: true, tid: tenantId, oid: id, xms_edov: true }),
  ({ tenantId }) => ({ email_verified: true, tenant_id: tenantId, roles: ['owner'], groups: ['owner'] }),
  ({ connectionId }) => ({ connection_id: connectionId, provider: connectionId, hd: 'example.com' }),
  () => ({ amr: ['pwd', 'mfa'], acr: 'aal2', email_verified: true }),
]

/** Every way in which a provider can name a victim: `ways` of them, numbered. */
export const ways = subjects.length * addresses.length * others.length

export function falseName(victim: Victim, own: string, way: number): Claims {
  const [subject, address, other] = [
    subjects[way % subjects.length]!,
    addresses[Math.floor(way / subjects.length) % addresses.length]!,
    others[Math.floor(way / subjects.length / addresses.length) % others.length]!,
  ]
  return { sub: subject(victim), email: address(victim.email, own), ...other(victim) }
}
