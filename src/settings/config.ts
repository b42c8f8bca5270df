import { readFileSync } from 'node:fs'
import { certificateFault } from '../crypto/certificate.ts'
import { type Setting, SettingError } from './forms.ts'
import { isLoopbackHost } from './loopback.ts'
import { unknownSettings } from './setting-names.ts'
import { settings } from './settings.ts'

type Values = { [Name in keyof typeof settings]: (typeof settings)[Name]['fallback'] }

/** The process's configuration: each setting under its own name, frozen. */
export type Config = Readonly<Values> & {
  readonly production: boolean
  readonly rateLimits: boolean
  readonly tracing: boolean
  readonly shutdownDelayMs: number
  /** File descriptor of the listening socket that systemd opened: sd_listen_fds(3). */
  readonly listenFd: number | undefined
}

/** Thrown at boot with every fault of the configuration at once. The message is for an operator. */
export class ConfigError extends Error {
  constructor(faults: string[]) {
    super(
      `The configuration has ${faults.length === 1 ? 'a fault' : 'faults'}:\n${faults.map((f) => `  - ${f}`).join('\n')}`,
    )
  }
}

/** The settings with the addresses of the three run-time roles. */
export const roleSettings = {
  api: 'DATABASE_API_URL',
  system: 'DATABASE_SYSTEM_URL',
  worker: 'DATABASE_WORKER_URL',
} as const

export type Role = keyof typeof roleSettings

const everyRole: readonly Role[] = ['api', 'system', 'worker']

/**
 * Reads the environment into one frozen object: each setting by its name, or from the file that NAME_FILE names.
 * `roles` are the database roles that the process uses; production requires their addresses. Throws {@link
 * ConfigError}.
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
  faults.push(...unknownSettings(env))
  const config = derive(values as Values, env)
  // A value that could not be read counts as absent below: its first fault says more.
  const named = (fault: string) => faults.some((first) => first.split(' ')[0] === fault.split(' ')[0])
  faults.push(...contradictions(config, roles).filter((fault) => !named(fault)))
  if (faults.length > 0) throw new ConfigError(faults)
  return Object.freeze(config)
}

function givenText(env: Record<string, string | undefined>, name: string): string | undefined {
  const file = env[`${name}_FILE`]
  const given = file ? readFileSync(file, 'utf8').trim() : env[name]
  return given === '' ? undefined : given
}

const derive = (values: Values, env: Record<string, string | undefined>): Config => {
  const production = values.NODE_ENV === 'production'
  const collector = values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? values.OTEL_EXPORTER_OTLP_ENDPOINT
  const tracing = collector !== undefined && !values.OTEL_SDK_DISABLED
  return {
    ...values,
    production,
    tracing,
    DATABASE_REQUIRE_TLS: values.DATABASE_REQUIRE_TLS ?? values.REQUIRE_TLS,
    REDIS_REQUIRE_TLS: values.REDIS_REQUIRE_TLS ?? values.REQUIRE_TLS,
    TRACING_REQUIRE_TLS: values.TRACING_REQUIRE_TLS ?? values.REQUIRE_TLS,
    // Unset means: unless it is on this machine, which the pool of mail connections finds out.
    SMTP_REQUIRE_TLS: values.SMTP_REQUIRE_TLS ?? (values.REQUIRE_TLS ? undefined : false),
    rateLimits: values.RATE_LIMIT_ENABLED ?? production,
    // The first socket passed is 3. LISTEN_PID names the process it is for, because child processes inherit the
    // environment.
    listenFd: env.LISTEN_PID === String(process.pid) && env.LISTEN_FDS === '1' ? 3 : undefined,
    shutdownDelayMs: (values.SHUTDOWN_DELAY_SECONDS ?? (production ? 5 : 0)) * 1_000,
  }
}

function contradictions(config: Config, roles: readonly Role[]): string[] {
  const faults: string[] = []
  const channelOn = config.OTP_EMAIL_ENABLED || config.OTP_TOTP_ENABLED
  if (config.OTP_REQUIRED_FOR_LOGIN && !(config.OTP_ENABLED && channelOn))
    faults.push('OTP_REQUIRED_FOR_LOGIN needs OTP_ENABLED and one of OTP_EMAIL_ENABLED, OTP_TOTP_ENABLED')
  if (config.MANAGEMENT_PORT && config.MANAGEMENT_PORT === config.PORT)
    faults.push('MANAGEMENT_PORT must differ from PORT')
  if (config.CONSOLE_ENABLED && !config.HOSTED_PAGES)
    faults.push(
      'HOSTED_PAGES must be on while the console is: it signs in there. Or set CONSOLE_ENABLED=false',
    )
  const unusable = certificateFault(config)
  if (unusable) faults.push(unusable)
  if (config.JWT_AUDIENCE === (config.JWT_ISSUER ?? config.PUBLIC_URL))
    faults.push(
      'JWT_AUDIENCE must differ from the issuer, because refresh tokens have the issuer as audience: name your applications',
    )
  if (!config.production) return faults
  for (const name of roles.map((role) => roleSettings[role]))
    if (!config[name]) faults.push(`${name} is missing`)
  faults.push(...plainConnections(config))
  // The fallback of MAIL_FROM works in development only, so an explicit value equal to it counts as missing, too.
  for (const name of ['SECRET_KEYS', 'SMTP_URL', 'MAIL_FROM', 'PUBLIC_URL'] as const)
    if (config[name] === settings[name].fallback)
      faults.push(`${name} is missing: in production it has no default`)
  return faults
}

/** A fault for each address that production would reach unencrypted over a network. */
function plainConnections(config: Config): string[] {
  const faults: string[] = []
  const databases = ['DATABASE_URL', 'DATABASE_READ_URL', ...Object.values(roleSettings)] as const
  for (const name of config.DATABASE_REQUIRE_TLS ? databases : []) {
    const address = config[name] && new URL(config[name])
    if (address && isRemote(address) && address.searchParams.get('sslmode') !== 'verify-full')
      faults.push(`${name} has no TLS: add sslmode=verify-full to it, or set DATABASE_REQUIRE_TLS=false`)
  }
  const redis = config.REDIS_URL && new URL(config.REDIS_URL)
  if (config.REDIS_REQUIRE_TLS && redis && isRemote(redis) && redis.protocol !== 'rediss:')
    faults.push('REDIS_URL has no TLS: begin it with rediss://, or set REDIS_REQUIRE_TLS=false')
  const name = config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
    ? 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
    : 'OTEL_EXPORTER_OTLP_ENDPOINT'
  const collector = config.tracing && config[name] && new URL(config[name])
  if (config.TRACING_REQUIRE_TLS && collector && isRemote(collector) && collector.protocol !== 'https:')
    faults.push(`${name} has no TLS: begin it with https://, or set TRACING_REQUIRE_TLS=false`)
  return faults
}

/** False for this machine and for a Unix socket, which has no host or an escaped path as its host. */
const isRemote = ({ hostname }: URL) => !/^(%2f|$)/i.test(hostname) && !isLoopbackHost(hostname)

/**
 * The addresses of the given run-time roles (default: all three). Throws {@link ConfigError} with the missing settings.
 */
export function roleUrls<R extends Role = Role>(
  config: Config,
  roles: readonly R[] = everyRole as readonly R[],
): Record<R, string> {
  const names = roles.map((role) => roleSettings[role])
  const missing = names.filter((name) => config[name] === undefined)
  if (missing.length > 0)
    throw new ConfigError(missing.map((name) => `${name} is required; npm start creates its own`))
  return Object.fromEntries(roles.map((role) => [role, config[roleSettings[role]]])) as Record<R, string>
}
