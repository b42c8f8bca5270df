import { base32 } from '../../crypto/totp.ts'
import type { RawRow } from './import-row.ts'

/** The products whose exports `users:import` reads, and our own form. */
export const sources = ['bailiwick', 'keycloak', 'auth0', 'firebase', 'better-auth', 'supabase'] as const
export type Source = (typeof sources)[number]

// biome-ignore lint/suspicious/noExplicitAny: what another product wrote; readRow checks what is made of it
type Entry = any
type Reader = (entry: Entry) => Partial<RawRow> | unknown

/** What makes a row of an entry of a product's export. It leaves out what the entry does not have. */
export function readerOf(source: Source, firebaseHash?: string): Reader {
  switch (source) {
    case 'bailiwick':
      return (entry) => entry
    case 'keycloak':
      return keycloak
    case 'auth0':
      return auth0
    case 'firebase':
      return firebase(hashParameters(firebaseHash ?? ''))
    case 'better-auth':
      return betterAuth
    case 'supabase':
      return supabase
  }
}

/** A user of `kc.sh export` or of a realm's export. */
function keycloak({ id, email, emailVerified, firstName, lastName, credentials = [] }: Entry) {
  const of = (type: string) => {
    const found = credentials.find((one: Entry) => one.type === type)
    return found && { ...json(found.secretData), ...json(found.credentialData) }
  }
  const otp = of('otp')
  return {
    ...person(id, email, emailVerified === true, firstName, lastName),
    ...unlessUndefined('password_hash', keycloakHash(of('password'))),
    ...(otp?.subType === 'totp' && otp.digits === 6 && otp.period === 30 && otp.algorithm === 'HmacSHA1'
      ? { totp_secret: otp.secretEncoding === 'BASE32' ? otp.value : base32(Buffer.from(String(otp.value))) }
      : {}),
  }
}

/** `secretData` and `credentialData` are JSON in a text. */
function keycloakHash(password: Entry): string | undefined {
  if (!password) return undefined
  const { algorithm, hashIterations, salt, value, additionalParameters: more } = password
  if (algorithm === 'argon2') {
    const { memory, parallelism, type } = more ?? {}
    return phc(
      `argon2${type?.[0] ?? 'id'}$v=19`,
      `m=${memory?.[0]},t=${hashIterations},p=${parallelism?.[0]}`,
      salt,
      value,
    )
  }
  return phc(String(algorithm), `i=${hashIterations}`, salt, value)
}

/** A line of the export of password hashes that Auth0's support makes, or of its import format. */
const auth0 = ({ _id: id, user_id, email, email_verified, given_name, family_name, ...entry }: Entry) => ({
  ...person(user_id ?? id?.$oid ?? id, email, email_verified === true, given_name, family_name),
  ...unlessUndefined('password_hash', entry.passwordHash ?? entry.password_hash),
  ...unlessUndefined(
    'totp_secret',
    entry.mfa_factors?.find((factor: Entry) => factor.totp?.secret)?.totp.secret,
  ),
})

interface FirebaseParameters {
  signerKey: string
  saltSeparator: string
  rounds: number
  memCost: number
}

/** A user of `firebase auth:export --format=json`. */
const firebase =
  ({ signerKey, saltSeparator, rounds, memCost }: FirebaseParameters): Reader =>
  ({ localId, email, emailVerified, displayName, passwordHash, salt }: Entry) => ({
    ...person(localId, email, emailVerified === true, ...namesOf(displayName)),
    ...(passwordHash && {
      password_hash: phc(
        'firebase-scrypt',
        `ln=${memCost},r=${rounds},ss=${saltSeparator},sk=${signerKey}`,
        plain(salt),
        plain(passwordHash),
      ),
    }),
  })

/** The text that the console of Firebase shows as “password hash parameters”. */
function hashParameters(text: string): FirebaseParameters {
  const found = text.matchAll(/(\w+)\s*[:=]\s*"?([A-Za-z0-9+/=_-]+)/g)
  const of = Object.fromEntries([...found].map(([, name, value]) => [name, value]))
  return {
    signerKey: plain(of.base64_signer_key),
    saltSeparator: plain(of.base64_salt_separator),
    rounds: Number(of.rounds),
    memCost: Number(of.mem_cost),
  }
}

/** A row of the table `user`, with `password` of its row in `account` whose provider is `credential`. */
const betterAuth = ({ id, email, emailVerified, name, password }: Entry) => {
  const [salt, key] = typeof password === 'string' ? password.split(':') : []
  return {
    ...person(id, email, emailVerified === true, ...namesOf(name)),
    // The salt is used as text.
    ...(key && { password_hash: phc('scrypt', 'ln=14,r=16,p=1', base64(salt!, 'utf8'), base64(key, 'hex')) }),
  }
}

/** A row of the table `auth.users`. */
const supabase = ({
  id,
  email,
  email_confirmed_at,
  encrypted_password,
  raw_user_meta_data: more,
}: Entry) => ({
  ...person(id, email, Boolean(email_confirmed_at), ...namesOf(more?.full_name ?? more?.name)),
  ...(encrypted_password && { password_hash: encrypted_password }),
})

const person = (id: unknown, email: unknown, isVerified: boolean, first?: unknown, last?: unknown) => ({
  id: id === undefined || id === null ? undefined : String(id),
  email,
  email_verified: isVerified,
  ...(first ? { first_name: first } : {}),
  ...(last ? { last_name: last } : {}),
})

/** The first word is the first name. */
function namesOf(name: unknown): [string, string] {
  const [first = '', ...others] = String(name ?? '')
    .trim()
    .split(/\s+/)
  return [first, others.join(' ')]
}

const phc = (kind: string, parameters: string, salt: unknown, hash: unknown) =>
  `$${kind}$${parameters}$${plain(salt)}$${plain(hash)}`

/** Base64 in the alphabet of PHC: not that of URLs, without `=`. */
const plain = (text: unknown) =>
  String(text ?? '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replaceAll('=', '')

const base64 = (text: string, encoding: BufferEncoding) => Buffer.from(text, encoding).toString('base64')

const unlessUndefined = (name: string, value: unknown) => (value === undefined ? {} : { [name]: value })

function json(text: unknown): Entry {
  try {
    return typeof text === 'string' ? JSON.parse(text) : (text ?? {})
  } catch {
    return {}
  }
}
