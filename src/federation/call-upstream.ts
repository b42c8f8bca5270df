import http from 'node:http'
import https from 'node:https'
import {
  isAllowedHost,
  publicLookup,
  type ReceiverRules,
  whyRefused,
} from '../events/webhooks/public-address.ts'
import type { Config } from '../settings/config.ts'

/** The settings that name hosts inside the network for applications and identity providers. */
export type FederationSettings = Pick<Config, 'FEDERATION_ALLOW_PRIVATE' | 'FEDERATION_ALLOWED_HOSTS'>

/** Where the service calls an application or an identity provider. */
export function rulesOfUri(uri: string, settings: FederationSettings): ReceiverRules {
  const { FEDERATION_ALLOW_PRIVATE: allowsAll, FEDERATION_ALLOWED_HOSTS: named } = settings
  const isNamed = named.length > 0 && isAllowedHost(uri, { allowPrivate: true, allowedHosts: named })
  return { allowPrivate: allowsAll || isNamed, allowedHosts: [] }
}

/** Why a URI cannot be called, as a sentence; undefined if it can. */
export const whyNotCalled = (uri: string, settings: FederationSettings): string | undefined =>
  uri.includes('#') ? 'Give the URI without a fragment.' : whyRefused(uri, rulesOfUri(uri, settings))

interface Limits {
  /** From the lookup of the name to the end of the answer. */
  ms: number
  bytes: number
}

interface Call {
  method?: string
  headers?: Record<string, string>
  body?: string
}

/**
 * Calls a URI by https, at an address of the public internet or one that the settings name, which is checked as it is used.
 * It follows no redirect, whose target was not checked. Rejects with an error whose message is for an administrator.
 */
export function callOutside(
  settings: FederationSettings,
  uri: string,
  { method = 'GET', headers = {}, body }: Call,
  { ms, bytes }: Limits,
): Promise<Response> {
  const refused = whyNotCalled(uri, settings)
  if (refused !== undefined) return Promise.reject(new Error(refused))
  const url = new URL(uri)
  const { request: open } = url.protocol === 'https:' ? https : http
  // A connection that is open already would skip the lookup.
  const options = {
    method,
    headers,
    agent: false,
    lookup: publicLookup(rulesOfUri(uri, settings).allowPrivate),
  }
  const answered = new Promise<[http.IncomingMessage, Buffer]>((done, fail) => {
    const request = open(url, { ...options, signal: AbortSignal.timeout(ms) }, (response) => {
      const parts: Buffer[] = []
      let read = 0
      response.on('data', (part: Buffer) => {
        read += part.length
        if (read > bytes) request.destroy(new Error(`The answer has more than ${bytes} bytes`))
        else parts.push(part)
      })
      response.on('error', fail)
      response.on('end', () => done([response, Buffer.concat(parts)]))
    })
    request.on('error', fail)
    request.end(body)
  })
  return answered.then(asResponse)
}

const withoutBody = new Set([101, 204, 205, 304])

function asResponse([{ statusCode = 502, headersDistinct }, body]: [http.IncomingMessage, Buffer]): Response {
  const own = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  )
  const status = statusCode < 200 || statusCode > 599 ? 502 : statusCode
  return new Response(withoutBody.has(status) ? null : new Uint8Array(body), { status, headers: own })
}
