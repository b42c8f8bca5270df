import {
  atLeast,
  boolean,
  databaseUrl,
  domainName,
  emailAddress,
  linkTemplate,
  list,
  oneOf,
  originList,
  type Setting,
  sealingKeys,
  seconds,
  setting,
  text,
  url,
  wholeNumber,
} from './forms.ts'
import { limitSettings } from './limits.ts'
import { tracingSettings } from './tracing.ts'

const addressOf = (role: string, where = '') =>
  setting(databaseUrl, undefined, `Address of the role \`${role}\`${where}`, { secret: true })
const replica = ' on a replica, for feeds and logs; when unset, and while it is away, the primary is read'

const linkTo = (about: string) =>
  setting(linkTemplate, undefined, `${about}, with \`{token}\``, { shown: 'a page of the service' })

/** Every setting of the service, in the order of docs/reference/settings.md. */
export const settings = {
  NODE_ENV: setting(
    oneOf('development', 'production', 'test'),
    'development',
    '`production` refuses the embedded database, captured mail, demo data and generated secrets',
  ),
  HOST: setting(text, '127.0.0.1', 'Address to listen on (`0.0.0.0` in the image)'),
  PORT: setting(
    wholeNumber(0, 65_535),
    undefined,
    'Port of the API and its docs; when unset, 3000, or the next free port in development',
    { shown: '3000' },
  ),
  TLS_CERTIFICATE: setting(
    text,
    undefined,
    'Certificate with its chain (PEM), for TLS between your proxy and the service; when set, `PORT` and `MANAGEMENT_PORT` speak TLS 1.2 and 1.3 only',
  ),
  TLS_PRIVATE_KEY: setting(text, undefined, 'Key of `TLS_CERTIFICATE` (PEM)', { secret: true }),
  MANAGEMENT_PORT: setting(
    wholeNumber(0, 65_535),
    undefined,
    'Port for `/metrics`, `/healthz` and `/readyz` only, of API and workers; when unset, there is none, and production has no metrics',
  ),
  QUEUE_BOARD_PASSWORD: setting(
    atLeast(16),
    undefined,
    'Password of the user `operator` for `/queues/` on `MANAGEMENT_PORT` of workers, 16 characters or more; when unset, there is no such page',
    { secret: true },
  ),
  SHUTDOWN_DELAY_SECONDS: setting(
    wholeNumber(0, 300),
    undefined,
    'How long the API serves requests after SIGTERM while `/readyz` answers 503, so that load balancers stop using it first',
    { shown: '5 in production, else 0' },
  ),
  PUBLIC_URL: setting(
    url('http:', 'https:'),
    undefined,
    'Base of links in mails and lists, and the issuer of tokens when `JWT_ISSUER` is unset',
    { shown: 'http://localhost:<port>' },
  ),
  DATA_DIR: setting(text, '.data', 'Where development keeps the embedded Postgres and its secrets'),
  LOG_LEVEL: setting(
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'info',
    'Lowest level that is logged',
  ),
  DATABASE_URL: setting(
    databaseUrl,
    undefined,
    "The owner's address (Postgres ≥ 15), used by `migrate` only; when unset, an embedded Postgres is started (development only)",
    { secret: true },
  ),
  DATABASE_API_URL: addressOf('bailiwick_api'),
  DATABASE_SYSTEM_URL: addressOf('bailiwick_system'),
  DATABASE_WORKER_URL: addressOf('bailiwick_worker'),
  DATABASE_READ_URL: addressOf('bailiwick_api', replica),
  DATABASE_REQUIRE_TLS: setting(
    boolean,
    true,
    'Production refuses these addresses without `sslmode=verify-full`, unless they are on this machine',
  ),
  DATABASE_PREPARED_STATEMENTS: setting(boolean, true, '`false` for poolers that cannot keep them'),
  DATABASE_DISTRIBUTED: setting(boolean, false, '`true` on a Citus cluster, after `distribute`'),
  DATABASE_POOL_SIZE: setting(
    wholeNumber(2, 100),
    undefined,
    'Connections per process and role, 2 or more; transactions leave one of them to reads; more than cores + 2 are slower',
    { shown: 'cores + 2; 6 for workers' },
  ),
  REDIS_URL: setting(url('redis:', 'rediss:'), undefined, 'Queues on Redis; when unset, queues on Postgres', {
    secret: true,
  }),
  REDIS_REQUIRE_TLS: setting(
    boolean,
    true,
    'Production refuses `redis://` instead of `rediss://`, unless it is on this machine',
  ),
  SMTP_URL: setting(
    url('smtp:', 'smtps:'),
    undefined,
    'Mail server; when unset, mail is captured (development only)',
    {
      secret: true,
    },
  ),
  SMTP_REQUIRE_TLS: setting(boolean, undefined, 'Over `smtp://`, mail is sent only after STARTTLS', {
    shown: 'true, unless it is on this machine',
  }),
  MAIL_FROM: setting(emailAddress, 'Bailiwick <no-reply@bailiwick.test>', 'Sender of mails', {
    shown: '`Bailiwick <no-reply@bailiwick.test>` in development',
  }),
  EMAIL_LINK_VERIFY: linkTo('Where verification links lead'),
  EMAIL_LINK_REJECT: linkTo('Where the link “This was not me” of verification mails leads'),
  EMAIL_LINK_RESET: linkTo('Where password reset links lead'),
  EMAIL_LINK_UNDO_EMAIL: linkTo('Where the links lead that undo a change of the e-mail address'),
  EMAIL_LINK_UNDO_FACTOR: linkTo('Where the links lead that remove a new second factor'),
  EMAIL_LINK_INVITATION: linkTo('Where invitation links lead'),
  EMAIL_LINK_MAGIC: linkTo('Where links to log in lead (`MAGIC_LINK_ENABLED`)'),
  EMAIL_LINK_LEAVE: linkTo('Where the links lead by which an added member leaves the tenant'),
  SECRET_KEYS: setting(
    sealingKeys,
    undefined,
    'Comma-separated base64url strings of 32 bytes; the first encrypts, all decrypt. Generated in development',
    { secret: true },
  ),
  JWT_ALGORITHM: setting(oneOf('ES256', 'EdDSA', 'RS256'), 'ES256', 'Algorithm of new signing keys'),
  JWT_PRIVATE_KEYS: setting(
    text,
    undefined,
    'Your own signing keys (a JWK set or PKCS#8 PEM; the first signs; RSA of 3,072 bits or more) instead of those in Postgres',
    { secret: true },
  ),
  JWT_ISSUER: setting(text, undefined, 'Claim `iss`', {
    shown: 'PUBLIC_URL, else http://localhost:<port>',
  }),
  JWT_AUDIENCE: setting(
    text,
    'bailiwick',
    'Claim `aud` of access tokens; in refresh and temporary tokens it is the issuer',
  ),
  ACCESS_TOKEN_VALIDITY_SECONDS: setting(seconds, 900, 'Lifetime of an access token'),
  REFRESH_TOKEN_VALIDITY_SECONDS: setting(
    seconds,
    7 * 86_400,
    'Lifetime of a refresh token, renewed by each use',
  ),
  REFRESH_TOKEN_ABSOLUTE_VALIDITY_SECONDS: setting(seconds, 30 * 86_400, 'Longest lifetime of a session'),
  REFRESH_TOKEN_SWITCHED_VALIDITY_SECONDS: setting(
    seconds,
    12 * 3_600,
    'Longest lifetime of the tokens of a tenant switch without a refresh token',
  ),
  REFRESH_TOKEN_ROTATION: setting(
    boolean,
    true,
    'Each refresh returns a new refresh token and ends the old one',
  ),
  REFRESH_TOKEN_REUSE_GRACE_SECONDS: setting(
    wholeNumber(0, 300),
    10,
    'How long a rotated refresh token still returns its successor',
  ),
  EMAIL_VERIFICATION_VALIDITY_SECONDS: setting(seconds, 86_400, 'Lifetime of a verification link'),
  PASSWORD_RESET_VALIDITY_SECONDS: setting(seconds, 3_600, 'Lifetime of a password reset link'),
  INVITATION_VALIDITY_SECONDS: setting(
    seconds,
    7 * 86_400,
    'Lifetime of an invitation, and of the link to leave a tenant',
  ),
  REGISTRATION_HIDE_EXISTING: setting(
    boolean,
    false,
    'Registering a used address answers 201, and changing to one answers 200, instead of 400; the owner of the address gets a mail',
  ),
  PASSWORD_BLOCKED_WORDS: setting(
    list,
    [],
    'Words that passwords must not be, comma-separated, such as the names of your products',
    { shown: 'none' },
  ),
  OTP_ENABLED: setting(boolean, true, 'One-time passwords on or off'),
  OTP_EMAIL_ENABLED: setting(boolean, true, 'Codes by e-mail on or off'),
  OTP_TOTP_ENABLED: setting(boolean, true, 'TOTP on or off'),
  OTP_STATIC_ENABLED: setting(boolean, true, 'Recovery codes on or off'),
  OTP_EMAIL_TOKEN_VALIDITY_SECONDS: setting(seconds, 300, 'Lifetime of a code sent by e-mail'),
  OTP_TEMPORARY_TOKEN_VALIDITY_SECONDS: setting(
    seconds,
    300,
    'Lifetime of the temporary token between password and code',
  ),
  OTP_TOTP_DRIFT_STEPS: setting(
    wholeNumber(0, 1),
    1,
    'How many steps of 30 s the clock of an authenticator app may be early or late; `0` accepts only the present code',
  ),
  OTP_TOTP_ISSUER_NAME: setting(text, 'Bailiwick', 'Issuer shown by authenticator apps'),
  OTP_STATIC_TOKEN_COUNT: setting(wholeNumber(1, 100), 10, 'Recovery codes per set'),
  OTP_REQUIRED_FOR_LOGIN: setting(boolean, false, 'All users need a second factor at login'),
  OTP_REQUIRED_WHEN_ENROLLED: setting(
    boolean,
    true,
    'Users with a TOTP device or a passkey need a second factor after the password',
  ),
  MAGIC_LINK_ENABLED: setting(boolean, false, 'People can log in by a link in a mail'),
  PASSKEYS_ENABLED: setting(boolean, true, 'Passkeys on or off'),
  PASSKEY_RP_ID: setting(
    domainName,
    undefined,
    'Domain that passkeys belong to (the relying party id); a change makes all registered passkeys useless',
    { shown: 'host of `PUBLIC_URL`, `localhost` in development' },
  ),
  PASSKEY_ORIGINS: setting(
    originList,
    undefined,
    'Comma-separated origins of the pages that can use passkeys, at that domain or below it',
    { shown: 'origin of `PUBLIC_URL`' },
  ),
  ...limitSettings,
  TRUSTED_PROXIES: setting(list, [], 'Addresses or CIDRs whose `X-Forwarded-For` is trusted', {
    shown: 'none',
  }),
  OPA_PATH: setting(
    text,
    undefined,
    'The pinned `opa`; when unset, it is searched for, and built by Go if there is one',
  ),
  POLICIES_DIR: setting(
    text,
    undefined,
    'Folder with platform rules of this installation, which deny and demand more; needs the pinned `opa` when a process starts',
  ),
  CORS_ORIGINS: setting(list, [], 'Origins whose pages can call the API from a browser', { shown: 'none' }),
  CONSOLE_ENABLED: setting(boolean, true, 'The web console at `/console/` on or off'),
  ...tracingSettings,
} satisfies Record<string, Setting<unknown>>
