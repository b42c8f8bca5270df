import { samplerNames } from '../observe/tracing/begin-tracing.ts'
import {
  boolean,
  databaseUrl,
  fraction,
  hostList,
  http,
  oneOf,
  serverList,
  setting,
  text,
  wholeNumber,
} from './forms.ts'

const requireTls = (about: string) => setting(boolean, undefined, about, { shown: '`REQUIRE_TLS`' })

/** Settings of processes, and of what they connect to. */
export const connectionSettings = {
  DATA_DIR: setting(text, '.data', 'Where development keeps the embedded Postgres and its secrets'),
  HOSTED_PAGES: setting(
    boolean,
    true,
    'The pages below `/sign-in/` on or off. The console signs in through them',
  ),
  CONSOLE_ENABLED: setting(boolean, true, 'The web console at `/console/` on or off'),
  SHUTDOWN_DELAY_SECONDS: setting(
    wholeNumber(0, 300),
    undefined,
    'How long the API serves requests after SIGTERM while `/readyz` answers 503, so that load balancers stop using it first',
    { shown: '5 in production, else 0' },
  ),
  TLS_CERTIFICATE: setting(
    text,
    undefined,
    'Certificate with its chain (PEM), for TLS between your proxy and the service; when set, `PORT` and `MANAGEMENT_PORT` speak TLS 1.2 and 1.3 only',
  ),
  TLS_PRIVATE_KEY: setting(text, undefined, 'Key of `TLS_CERTIFICATE` (PEM)', { secret: true }),
  DATABASE_REQUIRE_TLS: requireTls('The same for Postgres alone: `sslmode=verify-full`'),
  REDIS_REQUIRE_TLS: requireTls('The same for Redis alone: `rediss://`'),
  SMTP_REQUIRE_TLS: requireTls('The same for the mail server alone: STARTTLS, or `smtps://`'),
  TRACING_REQUIRE_TLS: requireTls('The same for the collector of traces alone: `https://`'),
  DATABASE_READ_URL: setting(
    databaseUrl,
    undefined,
    'Address of the role `bailiwick_api` on a replica, for feeds and logs; when unset, and while it is away, the primary is read',
    { secret: true },
  ),
  DATABASE_POOL_SIZE: setting(
    wholeNumber(2, 100),
    undefined,
    'Connections per process and role, 2 or more; transactions leave one of them to reads; more than cores + 2 are slower',
    { shown: 'cores + 2; 6 for workers' },
  ),
  DATABASE_PREPARED_STATEMENTS: setting(boolean, true, '`false` for poolers that cannot keep them'),
  DATABASE_DISTRIBUTED: setting(boolean, false, '`true` on a Citus cluster, after `distribute`'),
  WEBHOOK_ALLOW_PRIVATE: setting(boolean, false, 'Webhooks can use http, and addresses inside your network'),
  WEBHOOK_ALLOWED_HOSTS: setting(
    hostList,
    [],
    'The only hosts that webhooks can lead to, comma-separated: `example.com`, or `*.example.com` for its subdomains',
    { shown: 'any' },
  ),
  FEDERATION_ALLOW_PRIVATE: setting(
    boolean,
    false,
    'The service calls applications and identity providers by http, too, and at addresses inside your network. For development and tests',
  ),
  FEDERATION_ALLOWED_HOSTS: setting(
    hostList,
    [],
    'The only hosts for which that holds, comma-separated: `shop.internal`, or `*.internal` for its subdomains',
    { shown: 'none' },
  ),
  DNS_RESOLVERS: setting(
    serverList,
    [],
    'Servers that are asked for the records of domains, comma-separated: `192.0.2.53`, or `192.0.2.53:5353`. The first two must agree',
    { shown: "the system's" },
  ),
  OPA_PATH: setting(text, undefined, 'The pinned `opa`; when unset, it is searched for, or built by Go'),
  POLICIES_DIR: setting(
    text,
    undefined,
    'Folder with platform rules of this installation, which deny and demand more; needs the pinned `opa` when a process starts',
  ),
}

/** Settings of traces, with the names that OpenTelemetry gives them. */
export const tracingSettings = {
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: setting(
    http,
    undefined,
    'Full address of the collector, for traces only',
  ),
  OTEL_SDK_DISABLED: setting(boolean, false, '`true` turns tracing off regardless of the other settings'),
  OTEL_SERVICE_NAME: setting(text, undefined, 'Name of the process in traces', {
    shown: '`bailiwick-api`, `bailiwick-worker`; `bailiwick` when one process is both',
  }),
  OTEL_TRACES_SAMPLER: setting(
    oneOf(...samplerNames),
    undefined,
    'Which traces are kept; `parentbased_…` follows the sampled flag of a `traceparent`, the other samplers ignore it',
    { shown: '`always_on`' },
  ),
  OTEL_TRACES_SAMPLER_ARG: setting(fraction, 1, 'Share of traces that `…traceidratio` keeps, from 0 to 1'),
}
