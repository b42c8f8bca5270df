import {
  base,
  boolean,
  databaseUrl,
  emailAddress,
  http,
  list,
  oneOf,
  port,
  sealingKeys,
  setting,
  text,
  url,
} from './forms.ts'

const addressOf = (role: string) =>
  setting(databaseUrl, undefined, `Address of the role \`${role}\``, { secret: true })

/** What an operator sets. Every other setting has a default that suits most installations, or derives from these. */
export const operatorSettings = {
  NODE_ENV: setting(
    oneOf('development', 'production', 'test'),
    'development',
    '`production` refuses the embedded database, captured mail, demo data and generated secrets',
  ),
  PUBLIC_URL: setting(
    base,
    undefined,
    'Base of links in mails and lists, and the issuer of tokens when `JWT_ISSUER` is unset',
    { shown: 'http://localhost:<port>' },
  ),
  HOST: setting(text, '127.0.0.1', 'Address to listen on (`0.0.0.0` in the image)'),
  PORT: setting(
    port,
    undefined,
    'Port of the API and its docs; when unset, 3000, or the next free port in development',
    { shown: '3000' },
  ),
  MANAGEMENT_PORT: setting(
    port,
    undefined,
    'Port for `/metrics`, `/healthz` and `/readyz` only, of API and workers; when unset, there is none, and production has no metrics',
  ),
  TRUSTED_PROXIES: setting(list, [], 'Addresses or CIDRs whose `X-Forwarded-For` is trusted', {
    shown: 'none',
  }),
  CORS_ORIGINS: setting(list, [], 'Origins whose pages can call the API from a browser', { shown: 'none' }),
  SECRET_KEYS: setting(
    sealingKeys,
    undefined,
    'Comma-separated base64url strings of 32 bytes; the first encrypts, all decrypt. Generated in development',
    { secret: true },
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
  REDIS_URL: setting(url('redis:', 'rediss:'), undefined, 'Queues on Redis; when unset, queues on Postgres', {
    secret: true,
  }),
  SMTP_URL: setting(
    url('smtp:', 'smtps:'),
    undefined,
    'Mail server; when unset, mail is captured (development only)',
    { secret: true },
  ),
  MAIL_FROM: setting(emailAddress, 'Bailiwick <no-reply@bailiwick.test>', 'Sender of mails', {
    shown: '`Bailiwick <no-reply@bailiwick.test>` in development',
  }),
  EMAIL_LINK_BASE: setting(
    base,
    undefined,
    'Your application, if it has [pages of its own](../how-to/use-from-your-application.md#pages-of-your-own) for the links in mails; when unset, pages of the service',
  ),
  JWT_AUDIENCE: setting(text, 'bailiwick', 'Claim `aud` of access tokens; in other tokens it is the issuer'),
  REQUIRE_TLS: setting(
    boolean,
    true,
    'Production refuses addresses of Postgres, Redis, mail server and collector without TLS, unless they are on this machine',
  ),
  LOG_LEVEL: setting(
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'info',
    'Lowest level that is logged',
  ),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    http,
    undefined,
    'Collector that receives traces by OTLP/HTTP, at `/v1/traces` below this address; when unset, nothing is traced',
  ),
}
