import { describeError } from '../observe/describe-error.ts'
import type { Config } from '../settings/config.ts'
import { isLoopbackHost } from '../settings/loopback.ts'
import { check, type Finding } from './finding.ts'

const connectTimeoutMs = 5_000

// Each client is loaded only by its check: together with the queues they were half of the start of every command.

/** Checks Redis and the mail server, where they are set, and in production the settings that are often wrong. */
export async function checkServices(config: Config): Promise<Finding[]> {
  return [
    ...(config.REDIS_URL ? [await checkRedis(config.REDIS_URL)] : []),
    ...(config.SMTP_URL ? [await checkMailServer(config, config.SMTP_URL)] : []),
    ...(config.production ? [await checkPublicUrl(config), await checkProxies(config)] : []),
  ]
}

const checkRedis = (url: string) =>
  check('redis', 'Check REDIS_URL, and that Redis runs with maxmemory-policy noeviction', async () => {
    const { Redis } = await import('ioredis')
    const redis = new Redis(url, {
      lazyConnect: true,
      connectTimeout: connectTimeoutMs,
      commandTimeout: connectTimeoutMs,
      retryStrategy: () => null,
      maxRetriesPerRequest: 0,
    })
    redis.on('error', () => undefined) // the failed command says it
    try {
      await redis.connect()
      const info = await redis.info()
      const version = /^redis_version:(.*)$/m.exec(info)?.[1]?.trim()
      const eviction = /^maxmemory_policy:(.*)$/m.exec(info)?.[1]?.trim()
      if (eviction && eviction !== 'noeviction')
        throw new Error(`Redis evicts keys (maxmemory-policy ${eviction}), so it can lose jobs`)
      return `Redis ${version} at ${new URL(url).host} keeps its keys`
    } catch (error) {
      throw error instanceof Error && error.message.startsWith('Redis evicts')
        ? error
        : new Error(`Redis at ${new URL(url).host} does not answer: ${describeError(error)}`)
    } finally {
      redis.disconnect()
    }
  })

const checkMailServer = ({ MAIL_FROM, SMTP_REQUIRE_TLS }: Config, url: string) =>
  check('mail', 'Check SMTP_URL, its name and password, and that the mail server runs', async () => {
    const { hostname, host } = new URL(url)
    const { smtpTransport } = await import('../messages/mail/smtp-transport.ts')
    const transport = smtpTransport(url, MAIL_FROM, SMTP_REQUIRE_TLS ?? !isLoopbackHost(hostname))
    try {
      await transport.verify()
      return `The mail server at ${host} accepts the login; mails come from ${MAIL_FROM}`
    } catch (error) {
      throw new Error(`The mail server at ${host} does not accept a login: ${describeError(error)}`)
    } finally {
      await transport.close()
    }
  })

const checkPublicUrl = ({ PUBLIC_URL = '' }: Config) =>
  check('public_url', 'Set PUBLIC_URL to the https:// address that people use', async () => {
    const { protocol, hostname } = new URL(PUBLIC_URL)
    if (protocol !== 'https:' && !isLoopbackHost(hostname))
      throw new Error('PUBLIC_URL begins with http://, so links and tokens cross the network in the clear')
    return `Links lead to ${PUBLIC_URL}`
  })

// The service itself does not speak TLS, so an https:// address means that a proxy is in front of it.
const checkProxies = ({ PUBLIC_URL = '', TRUSTED_PROXIES }: Config) =>
  check('trusted_proxies', 'Set TRUSTED_PROXIES to the addresses or CIDRs of your proxy', async () => {
    if (PUBLIC_URL.startsWith('https:') && TRUSTED_PROXIES.length === 0)
      throw new Error(
        'TRUSTED_PROXIES is not set, but a proxy ends the TLS of PUBLIC_URL: all visitors share the limits of its one address',
      )
    return TRUSTED_PROXIES.length > 0
      ? `X-Forwarded-For is trusted from ${TRUSTED_PROXIES.join(', ')}`
      : 'X-Forwarded-For is not trusted: there is no proxy'
  })
