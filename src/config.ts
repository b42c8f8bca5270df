import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { samplerNames } from './platform/tracing/begin-tracing.ts'

/** A setting: how its text is read, what it is when unset, and the sentence the README prints about it. */
interface Setting<T> {
  read: (text: string) => T
  fallback: T
  about: string
  shown?: string
  secret?: boolean
}

class SettingError extends Error {}

const fail = (wanted: string): never => {
  throw new SettingError(wanted)
}

const words: Record<string, boolean> = { true: true, false: false, 1: true, 0: false, yes: true, no: false }
const boolean = (text: string) => words[text.toLowerCase()] ?? fail('must be true or false')
const wholeNumber = (least: number, most: number) => (text: string) =>
  /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most
    ? Number(text)
    : fail(`must be a whole number from ${least} to ${most}`)
const seconds = wholeNumber(1, 366 * 86_400)
const count = wholeNumber(1, 1_000_000)
const text = (value: string) => value
const atLeast = (characters: number) => (value: string) =>
  [...value].length >= characters ? value : fail(`must have ${characters} characters or more`)
const fraction = (value: string) =>
  /^(0?\.\d+|[01](\.0*)?)$/.test(value) ? Number(value) : fail('must be a number from 0 to 1')
const list = (value: string) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)
const oneOf =
  <const T extends string>(...names: T[]) =>
  (value: string): T =>
    names.find((name) => name === value) ?? fail(`must be one of ${names.join(', ')}`)
const url =
  (...protocols: string[]) =>
  (value: string) =>
    URL.canParse(value) && protocols.includes(new URL(value).protocol)
      ? value.replace(/\/$/, '')
      : fail(`must be a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`)
const linkTemplate = (value: string) =>
  value.includes('{token}') && URL.canParse(value.replace('{token}', 't'))
    ? value
    : fail('must be a URL that contains {token}')
const sealingKeys = (value: string) => {
  const keys = list(value).map((key) => Buffer.from(key, 'base64url'))
  return keys.length > 0 && keys.every((key) => key.length === 32)
    ? keys
    : fail('must be one or more base64url strings of 32 bytes, separated by commas')
}
const emailAddress = (value: string) =>
  z.email().safeParse(/<([^<>]+)>$/.exec(value)?.[1] ?? value).success
    ? value
    : fail('must be an e-mail address')

const setting = <T, F extends T | undefined>(
  read: (text: string) => T,
  fallback: F,
  about: string,
  more: { shown?: string; secret?: boolean } = {},
): Setting<T | F> => ({ read, fallback, about, ...more })

/** Every setting of the service, in the order in which the README lists them. */
export const settings = {
  NODE_ENV: setting(
    oneOf('development', 'production', 'test'),
    'development',
    '`production` refuses the embedded database, captured mail, demo data and generated secrets',
  ),
  HOST: setting(text, '127.0.0.1', 'Address to listen on (`0.0.0.0` in the image)'),
  PORT: setting(wholeNumber(0, 65_535), undefined, 'Port of API and docs; unset, 3000 or the next free one', {
    shown: '3000',
  }),
  MANAGEMENT_PORT: setting(
    wholeNumber(0, 65_535),
    undefined,
    'Port of `/metrics`, `/healthz` and `/readyz` alone, of API and workers; unset, none, and no metrics in production',
  ),
  QUEUE_BOARD_PASSWORD: setting(
    atLeast(16),
    undefined,
    'Password of `operator` for `/queues/` on `MANAGEMENT_PORT` of workers, 16 characters or more; unset, no such page',
    { secret: true },
  ),
  PUBLIC_URL: setting(
    url('http:', 'https:'),
    undefined,
    'Base of links in mails and lists, and the issuer of tokens where `JWT_ISSUER` is unset',
    { shown: 'http://<host>:<port>' },
  ),
  DATA_DIR: setting(text, '.data', 'Where development keeps the embedded Postgres and its secrets'),
  LOG_LEVEL: setting(
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'info',
    'Least level logged',
  ),
  DATABASE_URL: setting(
    url('postgres:', 'postgresql:'),
    undefined,
    "The owner's address (Postgres ≥ 15), used by `migrate` alone; unset, an embedded Postgres is started (development only)",
    { secret: true },
  ),
  DATABASE_API_URL: setting(
    url('postgres:', 'postgresql:'),
    undefined,
    'Address of the role `bailiwick_api`',
    {
      secret: true,
    },
  ),
  DATABASE_SYSTEM_URL: setting(
    url('postgres:', 'postgresql:'),
    undefined,
    'Address of the role `bailiwick_system`',
    {
      secret: true,
    },
  ),
  DATABASE_WORKER_URL: setting(
    url('postgres:', 'postgresql:'),
    undefined,
    'Address of the role `bailiwick_worker`',
    {
      secret: true,
    },
  ),
  DATABASE_PREPARED_STATEMENTS: setting(
    boolean,
    true,
    '`false` for poolers that cannot keep prepared statements',
  ),
  DATABASE_POOL_SIZE: setting(
    wholeNumber(2, 100),
    undefined,
    'Connections per process and role, 2 or more, half of them for reads; more than cores + 2 make it slower',
    { shown: 'cores + 2' },
  ),
  REDIS_URL: setting(url('redis:', 'rediss:'), undefined, 'Queues on Redis; unset, queues on Postgres', {
    secret: true,
  }),
  SMTP_URL: setting(
    url('smtp:', 'smtps:'),
    undefined,
    'Mail server; unset, mail is captured (development only)',
    {
      secret: true,
    },
  ),
  MAIL_FROM: setting(emailAddress, 'Bailiwick <no-reply@bailiwick.test>', 'Sender of mails'),
  EMAIL_LINK_VERIFY: setting(linkTemplate, undefined, 'Where verification links lead, with `{token}`', {
    shown: 'a page of the service',
  }),
  EMAIL_LINK_RESET: setting(linkTemplate, undefined, 'Where password reset links lead, with `{token}`', {
    shown: 'a page of the service',
  }),
  EMAIL_LINK_INVITATION: setting(linkTemplate, undefined, 'Where invitation links lead, with `{token}`', {
    shown: 'a page of the service',
  }),
  SECRET_KEYS: setting(
    sealingKeys,
    undefined,
    'Comma-separated base64url strings of 32 bytes; the first seals, all open. Generated in development',
    { secret: true },
  ),
  JWT_ALGORITHM: setting(oneOf('ES256', 'EdDSA', 'RS256'), 'ES256', 'Algorithm of newly made signing keys'),
  JWT_PRIVATE_KEYS: setting(
    text,
    undefined,
    'Your own signing keys (a JWK set or PKCS#8 PEM; the first signs) in place of those kept in Postgres',
    { secret: true },
  ),
  JWT_ISSUER: setting(text, undefined, 'Claim `iss`', {
    shown: 'PUBLIC_URL, else an id kept in the database',
  }),
  JWT_AUDIENCE: setting(text, 'bailiwick', 'Claim `aud`'),
  ACCESS_TOKEN_VALIDITY_SECONDS: setting(seconds, 900, 'Life of an access token'),
  REFRESH_TOKEN_VALIDITY_SECONDS: setting(
    seconds,
    7 * 86_400,
    'Life of a refresh token, renewed by each use',
  ),
  REFRESH_TOKEN_ABSOLUTE_VALIDITY_SECONDS: setting(seconds, 30 * 86_400, 'Longest life of a session'),
  REFRESH_TOKEN_ROTATION: setting(
    boolean,
    true,
    'Each refresh answers a new refresh token and ends the old one',
  ),
  REFRESH_TOKEN_REUSE_GRACE_SECONDS: setting(
    wholeNumber(0, 300),
    10,
    'How long a rotated refresh token still answers its successor',
  ),
  EMAIL_VERIFICATION_VALIDITY_SECONDS: setting(seconds, 86_400, 'Life of a verification link'),
  PASSWORD_RESET_VALIDITY_SECONDS: setting(seconds, 3_600, 'Life of a password reset link'),
  INVITATION_VALIDITY_SECONDS: setting(seconds, 7 * 86_400, 'Life of an invitation'),
  REGISTRATION_HIDE_EXISTING: setting(
    boolean,
    false,
    'Registering a used address answers 201 and mails its owner, in place of 400',
  ),
  OTP_ENABLED: setting(boolean, true, 'One-time passwords on or off'),
  OTP_EMAIL_ENABLED: setting(boolean, true, 'Codes by e-mail on or off'),
  OTP_TOTP_ENABLED: setting(boolean, true, 'TOTP on or off'),
  OTP_STATIC_ENABLED: setting(boolean, true, 'Recovery codes on or off'),
  OTP_EMAIL_TOKEN_VALIDITY_SECONDS: setting(seconds, 300, 'Life of a code sent by e-mail'),
  OTP_TEMPORARY_TOKEN_VALIDITY_SECONDS: setting(
    seconds,
    300,
    'Life of the temporary token between password and code',
  ),
  OTP_TOTP_ISSUER_NAME: setting(text, 'Bailiwick', 'Issuer shown by authenticator apps'),
  OTP_STATIC_TOKEN_COUNT: setting(wholeNumber(1, 100), 10, 'Recovery codes made at a time'),
  OTP_REQUIRED_FOR_LOGIN: setting(boolean, false, 'Everybody needs a second factor at login'),
  OTP_REQUIRED_WHEN_ENROLLED: setting(boolean, true, 'People with a TOTP device need it at login'),
  RATE_LIMIT_ENABLED: setting(boolean, undefined, 'Rate limits; attempt counters are always on', {
    shown: 'true in production',
  }),
  RATE_LIMIT_LOGIN_PER_ACCOUNT: setting(count, 5, 'Failed logins a minute for an account from one address'),
  RATE_LIMIT_LOGIN_PER_ADDRESS: setting(count, 20, 'Failed logins a minute from one address'),
  RATE_LIMIT_MAIL_PER_MINUTE: setting(count, 3, 'Mails a minute that can be asked for to one address'),
  RATE_LIMIT_MAIL_PER_HOUR: setting(count, 10, 'Mails an hour that can be asked for to one address'),
  RATE_LIMIT_REGISTER_PER_HOUR: setting(count, 10, 'Registrations an hour from one address'),
  RATE_LIMIT_PER_USER: setting(count, 600, 'Calls a minute of one person'),
  RATE_LIMIT_PER_TENANT: setting(count, 6_000, 'Calls a minute of one tenant'),
  LIMIT_CUSTOM_ROLES: setting(wholeNumber(0, 10_000), 100, 'Roles of its own that a tenant may have'),
  LIMIT_PENDING_INVITATIONS: setting(
    wholeNumber(0, 1_000_000),
    1_000,
    'Pending invitations that a tenant may have',
  ),
  LIMIT_DEPARTMENTS: setting(wholeNumber(0, 100_000), 1_000, 'Departments that a tenant may have'),
  LIMIT_WEBHOOKS: setting(wholeNumber(0, 1_000), 20, 'Webhooks that a tenant may have'),
  WEBHOOK_ALLOW_PRIVATE: setting(
    boolean,
    false,
    'Webhooks may use http and addresses inside your network: for trying them out, and where every tenant is your own',
  ),
  WEBHOOK_DELIVERY_RETENTION_DAYS: setting(
    wholeNumber(1, 36_500),
    30,
    'How long deliveries that ended are kept, to be read and replayed',
  ),
  DECISION_RETENTION_DAYS: setting(
    wholeNumber(1, 36_500),
    90,
    'How long decisions are kept, to be read, explained and tried again',
  ),
  TRUSTED_PROXIES: setting(list, [], 'Addresses or CIDRs whose `X-Forwarded-For` is believed', {
    shown: 'none',
  }),
  OPA_PATH: setting(
    text,
    undefined,
    'The pinned `opa`, for building policies; unset, it is looked for and fetched',
  ),
  CORS_ORIGINS: setting(list, [], 'Origins that browsers may call from', { shown: 'none' }),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    url('http:', 'https:'),
    undefined,
    'Collector that takes traces by OTLP/HTTP, at `/v1/traces` below this; unset, nothing is traced',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: setting(
    url('http:', 'https:'),
    undefined,
    'The same as a whole address, for traces alone',
  ),
  OTEL_SDK_DISABLED: setting(boolean, false, '`true` traces nothing, whatever the others say'),
  OTEL_SERVICE_NAME: setting(text, undefined, 'What the process is called in traces', {
    shown: '`bailiwick-api`, `bailiwick-worker`; `bailiwick` where one process is both',
  }),
  OTEL_TRACES_SAMPLER: setting(
    oneOf(...samplerNames),
    undefined,
    'Which traces are kept; `parentbased_…` believes the flag in a `traceparent`, the others keep their own counsel',
    { shown: '`always_on`' },
  ),
  OTEL_TRACES_SAMPLER_ARG: setting(fraction, 1, 'Share of traces that `…traceidratio` keeps, from 0 to 1'),
} satisfies Record<string, Setting<unknown>>

type Values = { [Name in keyof typeof settings]: (typeof settings)[Name]['fallback'] }

/** What the process runs with: each setting under its own name, frozen. */
export type Config = Readonly<Values> & {
  readonly production: boolean
  readonly rateLimits: boolean
  readonly tracing: boolean
}

const ourPrefixes =
  /^(OTP|JWT|DATABASE|EMAIL_LINK|EMAIL_VERIFICATION|RATE_LIMIT|LIMIT|MANAGEMENT|ACCESS_TOKEN|REFRESH_TOKEN|PASSWORD_RESET|INVITATION|REGISTRATION|SMTP|SECRET_KEYS|DECISION_RETENTION|WEBHOOK|TRUSTED_PROXIES|QUEUE_BOARD)(_|$)/

/** Thrown at boot with every fault of the configuration at once; the message is made for an operator. */
export class ConfigError extends Error {
  constructor(faults: string[]) {
    super(
      `The configuration has ${faults.length === 1 ? 'a fault' : 'faults'}:\n${faults.map((f) => `  - ${f}`).join('\n')}`,
    )
  }
}

/** The settings that hold the addresses of the three run-time roles. */
export const roleSettings = {
  api: 'DATABASE_API_URL',
  system: 'DATABASE_SYSTEM_URL',
  worker: 'DATABASE_WORKER_URL',
} as const

export type Role = keyof typeof roleSettings

const everyRole: readonly Role[] = ['api', 'system', 'worker']

/**
 * Reads the environment (names of settings, each also as NAME_FILE) into one frozen object; throws {@link ConfigError}.
 * `roles` are those that the process acts as: in production their addresses have to be there, and others need not.
 */
export function readConfig(
  env: Record<string, string | undefined> = process.env,
  roles: readonly Role[] = everyRole,
): Config {
  const faults: string[] = []
  const values: Record<string, unknown> = {}
  for (const [name, spec] of Object.entries(settings) as [string, Setting<unknown>][]) {
    try {
      const given = givenText(env, name)
      values[name] = given === undefined ? spec.fallback : spec.read(given)
    } catch (error) {
      faults.push(`${name} ${error instanceof SettingError ? error.message : 'cannot be read from its file'}`)
    }
  }
  for (const name of Object.keys(env))
    if (ourPrefixes.test(name) && !(name.replace(/_FILE$/, '') in settings))
      faults.push(`${name} is not a setting of this service: look for a misspelling`)
  const config = derive(values as Values)
  faults.push(...contradictions(config, roles))
  if (faults.length > 0) throw new ConfigError(faults)
  return Object.freeze(config)
}

function givenText(env: Record<string, string | undefined>, name: string): string | undefined {
  const file = env[`${name}_FILE`]
  const given = file ? readFileSync(file, 'utf8').trim() : env[name]
  return given === '' ? undefined : given
}

const derive = (values: Values): Config => {
  const production = values.NODE_ENV === 'production'
  const collector = values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? values.OTEL_EXPORTER_OTLP_ENDPOINT
  const tracing = collector !== undefined && !values.OTEL_SDK_DISABLED
  return { ...values, production, rateLimits: values.RATE_LIMIT_ENABLED ?? production, tracing }
}

function contradictions(config: Config, roles: readonly Role[]): string[] {
  const faults: string[] = []
  const channelOn = config.OTP_EMAIL_ENABLED || config.OTP_TOTP_ENABLED
  if (config.OTP_REQUIRED_FOR_LOGIN && !(config.OTP_ENABLED && channelOn))
    faults.push('OTP_REQUIRED_FOR_LOGIN needs OTP_ENABLED and one of OTP_EMAIL_ENABLED, OTP_TOTP_ENABLED')
  if (config.MANAGEMENT_PORT && config.MANAGEMENT_PORT === config.PORT)
    faults.push('MANAGEMENT_PORT has to be another than PORT')
  if (!config.production) return faults
  for (const name of roles.map((role) => roleSettings[role]))
    if (!config[name]) faults.push(`${name} is missing`)
  for (const name of ['SECRET_KEYS', 'SMTP_URL', 'PUBLIC_URL'] as const)
    if (config[name] === undefined)
      faults.push(`${name} is missing: production generates and captures nothing`)
  return faults
}

/** Every setting by name, what it is when unset, and what it means. */
export const settingRows = (): { name: string; default: string; about: string }[] =>
  (Object.entries(settings) as [string, Setting<unknown>][]).map(([name, { fallback, about, shown }]) => ({
    name,
    default: shown ?? printed(fallback),
    about,
  }))

/** The settings as rows of a Markdown table, for the README. */
export function settingsTable(): string {
  const rows = settingRows().map((row) => `| \`${row.name}\` | ${row.default} | ${row.about} |`)
  return ['| Setting | Default | Meaning |', '|---|---|---|', ...rows].join('\n')
}

const printed = (value: unknown) => (value === undefined ? 'unset' : `\`${value}\``)

/** The addresses of run-time roles, of all three unless some are named; throws {@link ConfigError} naming what lacks. */
export function roleUrls<R extends Role = Role>(
  config: Config,
  roles: readonly R[] = everyRole as readonly R[],
): Record<R, string> {
  const names = roles.map((role) => roleSettings[role])
  const missing = names.filter((name) => config[name] === undefined)
  if (missing.length > 0)
    throw new ConfigError(missing.map((name) => `${name} is needed here; npm start makes its own`))
  return Object.fromEntries(roles.map((role) => [role, config[roleSettings[role]]])) as Record<R, string>
}
