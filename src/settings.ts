import { limitSettings } from './limit-settings.ts'
import { samplerNames } from './platform/tracing/begin-tracing.ts'
import {
  atLeast,
  boolean,
  databaseUrl,
  emailAddress,
  fraction,
  linkTemplate,
  list,
  oneOf,
  type Setting,
  sealingKeys,
  seconds,
  setting,
  text,
  url,
  wholeNumber,
} from './setting-forms.ts'

const addressOf = (role: string) =>
  setting(databaseUrl, undefined, `Address of the role \`${role}\``, { secret: true })

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
  SHUTDOWN_DELAY_SECONDS: setting(
    wholeNumber(0, 300),
    undefined,
    'How long the API serves on after SIGTERM while `/readyz` says no, so that balancers leave it first',
    { shown: '5 in production, else 0' },
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
    databaseUrl,
    undefined,
    "The owner's address (Postgres ≥ 15), used by `migrate` alone; unset, an embedded Postgres is started (development only)",
    { secret: true },
  ),
  DATABASE_API_URL: addressOf('bailiwick_api'),
  DATABASE_SYSTEM_URL: addressOf('bailiwick_system'),
  DATABASE_WORKER_URL: addressOf('bailiwick_worker'),
  DATABASE_REQUIRE_TLS: setting(
    boolean,
    true,
    'Production refuses these addresses without `sslmode=verify-full`, unless they are on this machine',
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
  REDIS_REQUIRE_TLS: setting(
    boolean,
    true,
    'Production refuses `redis://` in place of `rediss://`, unless it is on this machine',
  ),
  SMTP_URL: setting(
    url('smtp:', 'smtps:'),
    undefined,
    'Mail server; unset, mail is captured (development only)',
    {
      secret: true,
    },
  ),
  SMTP_REQUIRE_TLS: setting(boolean, undefined, 'Over `smtp://`, mail is sent after STARTTLS or not at all', {
    shown: 'true, unless it is on this machine',
  }),
  MAIL_FROM: setting(emailAddress, 'Bailiwick <no-reply@bailiwick.test>', 'Sender of mails', {
    shown: '`Bailiwick <no-reply@bailiwick.test>` in development',
  }),
  EMAIL_LINK_VERIFY: setting(linkTemplate, undefined, 'Where verification links lead, with `{token}`', {
    shown: 'a page of the service',
  }),
  EMAIL_LINK_REJECT: setting(
    linkTemplate,
    undefined,
    'Where the link “This was not me” of verification mails leads, with `{token}`',
    { shown: 'a page of the service' },
  ),
  EMAIL_LINK_RESET: setting(linkTemplate, undefined, 'Where password reset links lead, with `{token}`', {
    shown: 'a page of the service',
  }),
  EMAIL_LINK_UNDO_EMAIL: setting(
    linkTemplate,
    undefined,
    'Where links lead that take a change of the e-mail address back, with `{token}`',
    { shown: 'a page of the service' },
  ),
  EMAIL_LINK_UNDO_FACTOR: setting(
    linkTemplate,
    undefined,
    'Where links lead that remove a second factor, with `{token}`',
    { shown: 'a page of the service' },
  ),
  EMAIL_LINK_INVITATION: setting(linkTemplate, undefined, 'Where invitation links lead, with `{token}`', {
    shown: 'a page of the service',
  }),
  EMAIL_LINK_LEAVE: setting(
    linkTemplate,
    undefined,
    'Where the link leads that leaves a tenant one was added to, with `{token}`',
    { shown: 'a page of the service' },
  ),
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
  JWT_AUDIENCE: setting(
    text,
    'bailiwick',
    'Claim `aud` of access tokens; refresh and temporary tokens carry the issuer',
  ),
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
  INVITATION_VALIDITY_SECONDS: setting(
    seconds,
    7 * 86_400,
    'Life of an invitation, and of the link that leaves a tenant',
  ),
  REGISTRATION_HIDE_EXISTING: setting(
    boolean,
    false,
    'Registering a used address answers 201, and changing to one 200; its owner is mailed, in place of 400',
  ),
  PASSWORD_BLOCKED_WORDS: setting(
    list,
    [],
    'Words that may not be a password, comma-separated, such as names of your products',
    { shown: 'none' },
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
  ...limitSettings,
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
