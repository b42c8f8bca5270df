import type { Credentials } from '../credentials.ts'
import { isProblem, Problem } from '../problem.ts'
import { exchange } from '../transport.ts'

export interface ClientCredentialsOptions {
  /** Address of the service, with its path if it has one. */
  url: string
  /** Of an application of the kind `machine`. */
  clientId: string
  clientSecret: string
  /** Permissions, separated by spaces; all that the application has if absent. */
  scope?: string
  fetch?: typeof fetch
  /** For one request of a token, in ms; 5,000 if absent. */
  timeoutMs?: number
}

/** A token is renewed so long before it ends. */
const marginMs = 30_000

/**
 * Signs a machine in (RFC 6749 §4.4). Its token is kept until shortly before it ends, and calls that need a new one at the same time
 * share one request. A refusal makes the call reject with `Problem`, whose `code` is the error of OAuth, such as `invalid_client`.
 */
export function clientCredentials(options: ClientCredentialsOptions): Credentials {
  let known: { token: string; until: number } | undefined
  let asking: Promise<string> | undefined
  const ask = async () => {
    known = await tokenOf(options)
    return known.token
  }
  return {
    token() {
      if (known && known.until > Date.now()) return known.token
      asking ??= ask().finally(() => {
        asking = undefined
      })
      return asking
    },
    async renew(used) {
      if (known?.token === used) known = undefined
    },
  }
}

async function tokenOf({
  url,
  clientId,
  clientSecret,
  scope,
  fetch = globalThis.fetch,
  timeoutMs = 5_000,
}: ClientCredentialsOptions) {
  const fields = new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) })
  const request = {
    method: 'POST',
    target: '/oauth/token',
    token: null,
    headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
    body: new Blob([fields.toString()], { type: 'application/x-www-form-urlencoded' }),
    signal: undefined,
  }
  try {
    const { body } = await exchange({ url, fetch, timeoutMs }, request)
    const { access_token: token, expires_in: seconds } = body as { access_token: string; expires_in: number }
    return { token, until: Date.now() + seconds * 1000 - marginMs }
  } catch (error) {
    if (!isProblem(error) || typeof error.members.error !== 'string') throw error
    const { error: code, error_description: detail } = error.members
    throw new Problem(error.status, { ...error.members, code, detail }, error.retryAfter)
  }
}
